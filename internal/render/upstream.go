// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
)

// Upstream is how the dispatcher of a pod of this spec reaches its server. A change of any of it makes another revision; who shares a
// connection is not part of it.
func Upstream(s *mcpv1alpha1.MCPServer) registry.Upstream {
	u := registry.Upstream{Transport: registry.TransportType(Transport(s))}
	switch {
	case s.Spec.Remote != nil:
		u.URL, u.Remote, u.Headers = s.Spec.Remote.URL, true, headerFiles(s.Spec.Remote)
		if s.Spec.Remote.CABundleFrom != nil {
			u.CAFile = CADir + "/" + CAFileName
		}
	case u.Transport != registry.TransportStdio:
		port, path := Endpoint(s)
		u.URL = fmt.Sprintf("http://127.0.0.1:%d%s", port, path)
	}
	return u
}

// headerFiles are where the dispatcher finds the headers that the pod mounts. Files are numbered: a header's name need not be a file's.
func headerFiles(r *mcpv1alpha1.Remote) []registry.HeaderFile {
	out := make([]registry.HeaderFile, 0, len(r.HeadersFrom))
	for i, h := range r.HeadersFrom {
		out = append(out, registry.HeaderFile{Name: h.Name, File: HeaderFile(i)})
	}
	return out
}
