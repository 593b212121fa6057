// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// revisionLength is enough for names that are read by people and never compared across servers: 40 bits.
const revisionLength = 10

// Revision names what the server's process is made of: image, command, arguments, environment, working directory, what is
// mounted, what probes run beside it, and where it is reached. Two specs with one revision run the same server; anything that
// could make it list other tools gives another revision, and with it another first use. Resources, labels and policy don't.
//
// What an older release did not know must leave the revision of specs without it as it was: an upgrade would restart them.
func Revision(s *mcpv1alpha1.MCPServer) (string, error) {
	type process struct {
		Transport  mcpv1alpha1.TransportType
		Port       int32                     `json:",omitempty"`
		Path       string                    `json:",omitempty"`
		Image      string                    `json:",omitempty"`
		Command    []string                  `json:",omitempty"`
		Args       []string                  `json:",omitempty"`
		WorkingDir string                    `json:",omitempty"`
		Env        []mcpv1alpha1.EnvVar      `json:",omitempty"`
		EnvFrom    []mcpv1alpha1.EnvFrom     `json:",omitempty"`
		Mounts     []mcpv1alpha1.VolumeMount `json:",omitempty"`
		Volumes    []mcpv1alpha1.Volume      `json:",omitempty"`
		Remote     *mcpv1alpha1.Remote       `json:",omitempty"`
		Model      *mcpv1alpha1.DomainModel  `json:",omitempty"`
		Probes     probeCommands             `json:",omitzero"`
	}
	p := process{Transport: Transport(s), Remote: s.Spec.Remote}
	if c := s.Spec.Container; c != nil {
		p.Image, p.Command, p.Args, p.WorkingDir = c.Image, c.Command, c.Args, c.WorkingDir
		p.Model = s.Spec.DomainModel
		p.Env, p.EnvFrom, p.Mounts = c.Env, c.EnvFrom, c.VolumeMounts
		p.Probes = probeCommands{commandOf(c.LivenessProbe), commandOf(c.ReadinessProbe), commandOf(c.StartupProbe)}
		p.Volumes = Mounted(s.Spec.Pod.Volumes, c.VolumeMounts)
		if p.Transport != mcpv1alpha1.TransportStdio {
			p.Port, p.Path = Endpoint(s)
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("hashing the server's process: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:revisionLength], nil
}

// probeCommands are what probes run in the server's container, as its user: they can change what the server's next process runs.
type probeCommands struct {
	Liveness  []string `json:",omitempty"`
	Readiness []string `json:",omitempty"`
	Startup   []string `json:",omitempty"`
}

// IsZero is for omitzero: a struct with lists can't be compared.
func (c probeCommands) IsZero() bool { return len(c.Liveness)+len(c.Readiness)+len(c.Startup) == 0 }

func commandOf(p *mcpv1alpha1.Probe) []string {
	if p == nil {
		return nil
	}
	return p.Exec
}

// Mounted leaves out volumes that no container sees.
func Mounted(volumes []mcpv1alpha1.Volume, mounts []mcpv1alpha1.VolumeMount) []mcpv1alpha1.Volume {
	var out []mcpv1alpha1.Volume
	for _, v := range volumes {
		for _, m := range mounts {
			if m.Name == v.Name {
				out = append(out, v)
				break
			}
		}
	}
	return out
}
