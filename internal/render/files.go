// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Folders of the dispatcher in which the pod mounts what its document names.
const (
	HeadersDir = "/etc/toolgate/headers"
	CADir      = "/etc/toolgate/ca"
	ModelDir   = "/etc/toolgate/domain-model"
)

// CAFileName is the file in CADir.
const CAFileName = "ca.pem"

// HeaderFile is the file of a header of a remote server, by its place in the spec: a header's name can't be trusted to be a
// file name.
func HeaderFile(i int) string { return fmt.Sprintf("%s/%d", HeadersDir, i) }

// ModelFileName is what the domain model is called where it is mounted.
func ModelFileName(m *mcpv1alpha1.DomainModel) string {
	switch m.Format {
	case mcpv1alpha1.ModelTurtle:
		return "model.ttl"
	case mcpv1alpha1.ModelJSON:
		return "model.json"
	case mcpv1alpha1.ModelMarkdown:
		return "model.md"
	default:
		return "model"
	}
}
