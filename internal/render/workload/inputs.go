// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// PodInputs names everything of a server that its pod template is made of, apart from the release that makes it: equal inputs
// give other pods only where another release renders them. A field of the spec that is new to a release and not set leaves it
// as it was.
func PodInputs(s *mcpv1alpha1.MCPServer, live Live) (string, error) {
	data, err := json.Marshal(struct {
		Container   *mcpv1alpha1.Container         `json:",omitempty"`
		Remote      *mcpv1alpha1.Remote            `json:",omitempty"`
		Transport   mcpv1alpha1.Transport          `json:",omitzero"`
		Pod         mcpv1alpha1.PodSettings        `json:",omitzero"`
		Dispatcher  mcpv1alpha1.DispatcherSettings `json:",omitzero"`
		DomainModel *mcpv1alpha1.DomainModel       `json:",omitempty"`
		RestartOn   mcpv1alpha1.RestartOn          `json:",omitempty"`
		References  string                         `json:",omitempty"`
		Hosts       []string                       `json:",omitempty"`
	}{s.Spec.Container, s.Spec.Remote, s.Spec.Transport, s.Spec.Pod, s.Spec.Dispatcher, s.Spec.DomainModel, s.Spec.RestartOn, live.References, hosts(s)})
	if err != nil {
		return "", fmt.Errorf("hashing what the pods are made of: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}
