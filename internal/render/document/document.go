// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render"
)

// Input is everything that the document of one server depends on.
type Input struct {
	Server *mcpv1alpha1.MCPServer
	// Tools are all MCPTools that refer to the server.
	Tools []mcpv1alpha1.MCPTool
	// RuleSets are all RuleSets of the namespace; the document takes those that reach the server.
	RuleSets []mcpv1alpha1.RuleSet
	// Broken says of RuleSets that do not compile why.
	Broken map[string]string
	// Revisions are those that a pod runs now. The one that the spec asks for is added.
	Revisions []string
	// Replicas that the server's Deployment asks for; nil while there is none.
	Replicas *int32
}

// Render renders what a server's dispatchers enforce, with Sequence 0: only who writes it knows what was written before.
func Render(in Input) (*registry.Document, error) {
	s := in.Server
	current, err := render.Revision(s)
	if err != nil {
		return nil, err
	}
	upstream := render.Upstream(s)
	upstream.Isolation = registry.Isolation(s.Spec.Effective().Transport.Isolation)
	doc := &registry.Document{
		Version: registry.Version,
		Server: registry.Server{
			Namespace:    s.Namespace,
			Name:         s.Name,
			Description:  s.Spec.Description,
			Domain:       s.Spec.Domain,
			Capabilities: slices.Clone(s.Spec.Capabilities),
			URL:          render.URL(s),
		},
		Upstream:    upstream,
		Policy:      policy(s, render.Replicas(s, in.Replicas)),
		Telemetry:   registry.Telemetry{OTLPEndpoint: s.Spec.Telemetry.OTLPEndpoint},
		DomainModel: domainModel(s.Spec.DomainModel),
		Revisions:   map[string]registry.Revision{},
		RuleSets:    ruleSets(in),
	}
	for _, name := range append(slices.Clone(in.Revisions), current) {
		duplicates := render.Duplicates(in.Tools, func(t *mcpv1alpha1.MCPTool) bool { return Meets(s, t, name, LastSeen(t, name)) })
		doc.Revisions[name] = revision(in, name, duplicates)
	}
	return doc, nil
}

func revision(in Input, name string, duplicates map[string]render.Fault) registry.Revision {
	rev := registry.Revision{Tools: []registry.Tool{}}
	seen := map[string]bool{}
	for i := range in.Tools {
		t := &in.Tools[i]
		// Of two objects for one tool, both are withheld, so one entry says it.
		if t.Spec.ToolName == "" || seen[t.Spec.ToolName] {
			continue
		}
		seen[t.Spec.ToolName] = true
		rev.Tools = append(rev.Tools, documentTool(&in, t, name, duplicates[t.Name]))
	}
	return rev
}

func documentTool(in *Input, t *mcpv1alpha1.MCPTool, revision string, duplicate render.Fault) registry.Tool {
	s := in.Server
	tool := registry.Tool{
		Name:           t.Spec.ToolName,
		Digest:         Admitted(s, t, revision),
		Hints:          hints(t.Spec.Hints),
		TimeoutSeconds: int(ptr.Deref(t.Spec.TimeoutSeconds, 0)),
	}
	if c := t.Spec.Contract; c != nil {
		tool.Version, tool.DeprecatedIn = c.Version, c.DeprecatedIn
	}
	if l := t.Spec.Limits; l != nil {
		share := shareOf(render.Replicas(s, in.Replicas))
		tool.Limits = registry.ToolLimits{RequestsPerMinute: share(l.RequestsPerMinute), MaxConcurrent: share(l.MaxConcurrent)}
	}
	if tool.Digest == "" && render.Pinning(s) == mcpv1alpha1.PinningOff {
		tool.Digests = kept(t)
	}
	if len(tool.Digests) == 1 {
		tool.Digest, tool.Digests = tool.Digests[0], nil // as dispatchers of earlier releases read it
	}
	tool.Withheld, tool.Message = withheld(s, t, duplicate)
	if tool.Withheld == "" {
		tool.Withheld, tool.Message = unservable(t, revision, tool.Digest)
	}
	if tool.Withheld == "" && breaksContract(t, &tool) {
		tool.Withheld, tool.Message = mcpv1alpha1.ReasonContractBroken, fmt.Sprintf(
			"the definition of tool %s breaks what was promised of it; the people who run the server decide about it", t.Spec.ToolName)
	}
	if tool.Withheld == "" && tool.Digest == "" {
		tool.Withheld, tool.Message = notAdmitted(s, t, &tool)
	}
	return tool
}

// withheld says why a tool must not be called, whatever its definition is. A definition that changed is none of it: the dispatcher
// compares digests on each connection itself, and a replica that still lists the admitted one goes on serving it. Callers read
// the message: it says what is the matter, and not how to get it lifted.
func withheld(s *mcpv1alpha1.MCPServer, t *mcpv1alpha1.MCPTool, duplicate render.Fault) (reason, message string) {
	switch {
	case render.Disabled(s):
		return registry.WithheldDisabled, fmt.Sprintf("server %s is disabled", s.Name)
	case t.Spec.State == mcpv1alpha1.StateDisabled:
		return registry.WithheldDisabled, fmt.Sprintf("tool %s is disabled", t.Spec.ToolName)
	case duplicate != (render.Fault{}):
		return mcpv1alpha1.ReasonDuplicateName, duplicate.What
	}
	if undeclared := render.Undeclared(t); undeclared != (render.Fault{}) {
		return mcpv1alpha1.ReasonNameNotDeclared, undeclared.What
	}
	return "", ""
}

// unservable says what was found wrong with the definition that a tool is judged by. That is said of the revision that lists it,
// and of others that have that very definition admitted: old pods of a rollout serve under their own pins, and their dispatchers
// refuse by themselves what can't be served.
func unservable(t *mcpv1alpha1.MCPTool, revision, admitted string) (reason, message string) {
	registered := meta.FindStatusCondition(t.Status.Conditions, mcpv1alpha1.ConditionRegistered)
	if registered == nil {
		return "", ""
	}
	o := t.Status.Observed
	here := o == nil || o.Revision == "" || o.Revision == revision
	switch {
	case registered.Reason == mcpv1alpha1.ReasonNoInputSchema, registered.Reason == mcpv1alpha1.ReasonInvalidSchema:
		if here || o.Digest == admitted {
			return registered.Reason, registered.Message
		}
	case registered.Reason == mcpv1alpha1.ReasonDuplicateName && here:
		// The objects are unambiguous, so it is the server's own list that is not.
		return registered.Reason, fmt.Sprintf("the server lists tool %s more than once", t.Spec.ToolName)
	}
	return "", ""
}

// Seen says of a tool and a revision whether pods of it list the tool.
type Seen string

// What is known of that. A tool is Elsewhere that another revision lists, and Gone where it was listed once, or is not yet, or in
// sessions alone: there nobody meets it before a person admits it.
const (
	Here      Seen = "Here"
	Elsewhere Seen = "Elsewhere"
	Gone      Seen = "Gone"
)

// LastSeen is what a status says of it.
func LastSeen(t *mcpv1alpha1.MCPTool, revision string) Seen {
	o := t.Status.Observed
	registered := meta.FindStatusCondition(t.Status.Conditions, mcpv1alpha1.ConditionRegistered)
	switch {
	case o == nil && len(t.Status.Pins) > 0:
		return Elsewhere
	case o == nil, OnlyInSessions(o), o.Revision != "" && registered != nil && registered.Reason == mcpv1alpha1.ReasonGone:
		return Gone
	case o.Revision == "" || o.Revision == revision:
		return Here
	default:
		return Elsewhere
	}
}

// OnlyInSessions says of what is observed of a tool that nothing but clients' sessions lists it.
func OnlyInSessions(o *mcpv1alpha1.ObservedTool) bool {
	return o.SessionVariants > 0 && o.SessionVariants == o.Variants
}

// Meets says whether clients of a revision can meet a tool, so that another one there can be confused with it. Where nothing is pinned
// any tool may be met, and what people decided about one that is not listed must not be escaped by another spelling of its name.
func Meets(s *mcpv1alpha1.MCPServer, t *mcpv1alpha1.MCPTool, revision string, seen Seen) bool {
	return seen == Here || pinned(t, revision) != "" || render.Pinning(s) == mcpv1alpha1.PinningOff || seen == Gone && render.OwnedByPeople(t)
}

// notAdmitted is read by callers: it says what is the matter, and not how to approve it.
func notAdmitted(s *mcpv1alpha1.MCPServer, t *mcpv1alpha1.MCPTool, tool *registry.Tool) (reason, message string) {
	switch {
	case render.Pinning(s) == mcpv1alpha1.PinningOff && (len(tool.Digests) > 0 || !t.Spec.Contract.Promises()):
		return "", ""
	case render.Pinning(s) == mcpv1alpha1.PinningOff:
		return mcpv1alpha1.ReasonNotDiscovered, fmt.Sprintf("no definition of tool %s has been held against what was promised of it yet", t.Spec.ToolName)
	case render.Pinning(s) == mcpv1alpha1.PinningManual:
		return mcpv1alpha1.ReasonNotPinned, fmt.Sprintf("no definition of tool %s is admitted; the people who run the server decide about it", t.Spec.ToolName)
	case t.Status.ObservedGeneration == 0:
		return mcpv1alpha1.ReasonNotDiscovered, fmt.Sprintf("tool %s has just been listed and is being registered", t.Spec.ToolName)
	default:
		return mcpv1alpha1.ReasonDefinitionChanged, fmt.Sprintf(
			"no definition of tool %s is admitted for this revision; the people who run the server decide about it", t.Spec.ToolName)
	}
}

// breaksContract says whether the definition that a revision may serve breaks the contract. Where any may be served, one that
// does is enough.
func breaksContract(t *mcpv1alpha1.MCPTool, tool *registry.Tool) bool {
	if tool.Digest == "" {
		return len(tool.Digests) == 0 && len(t.Status.ContractBroken) > 0
	}
	return slices.Contains(t.Status.ContractBroken, tool.Digest)
}

// kept are the definitions that are known to keep the contract; none where nothing is promised. While what was written last has not been
// judged, what was admitted before it goes on being served, as it does where definitions are pinned; and what a manager from before has
// judged, which noted the verdict alone.
func kept(t *mcpv1alpha1.MCPTool) []string {
	o := t.Status.Observed
	switch {
	case !t.Spec.Contract.Promises():
		return nil
	case len(t.Status.ContractKept) == 0 && o != nil && !OnlyInSessions(o) &&
		meta.IsStatusConditionTrue(t.Status.Conditions, mcpv1alpha1.ConditionRegistered):
		return []string{o.Digest}
	default:
		return slices.Sorted(slices.Values(t.Status.ContractKept))
	}
}

// Admitted is the digest of the definition that a revision may serve: a person's pin, else what was admitted for the
// revision where pinning is automatic, else "".
func Admitted(s *mcpv1alpha1.MCPServer, t *mcpv1alpha1.MCPTool, revision string) string {
	if t.Spec.Pin != nil && t.Spec.Pin.Digest != "" {
		return t.Spec.Pin.Digest
	}
	if !render.Automatic(s) {
		return ""
	}
	return pinned(t, revision)
}

// pinned is what was admitted for a revision by itself.
func pinned(t *mcpv1alpha1.MCPTool, revision string) string {
	for _, p := range t.Status.Pins {
		if p.Revision == revision {
			return p.Digest
		}
	}
	return ""
}

func hints(h mcpv1alpha1.Hints) *registry.Hints {
	if h == (mcpv1alpha1.Hints{}) {
		return nil
	}
	return &registry.Hints{
		ReadOnly:    h.ReadOnly.Bool(),
		Destructive: h.Destructive.Bool(),
		Idempotent:  h.Idempotent.Bool(),
		OpenWorld:   h.OpenWorld.Bool(),
	}
}

// ConfigMap renders the ConfigMap that every pod of a server mounts: the files that a document begins with.
func ConfigMap(s *mcpv1alpha1.MCPServer, files shard.Files) *corev1ac.ConfigMapApplyConfiguration {
	texts := map[string]string{}
	for _, name := range []string{registry.FileName, shard.RootFile} {
		if data, ok := files[name]; ok {
			texts[name] = string(data)
		}
	}
	return corev1ac.ConfigMap(render.RegistryName(s.Name), s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithOwnerReferences(render.Owner(s)).
		WithData(texts)
}

// Files are what the data of such a ConfigMap holds of a document.
func Files(data map[string]string) shard.Files {
	files := shard.Files{}
	for _, name := range []string{registry.FileName, shard.RootFile} {
		if text := data[name]; text != "" {
			files[name] = []byte(text)
		}
	}
	return files
}

// ShardConfigMap renders the ConfigMap of one shard.
func ShardConfigMap(s *mcpv1alpha1.MCPServer, file string, data []byte) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(render.ShardName(s.Name, file), s.Namespace).
		WithLabels(render.Labels(s.Name)).
		WithOwnerReferences(render.Owner(s)).
		WithBinaryData(map[string][]byte{file: data})
}

// domainModel is what the dispatcher is told of it. A format that is not known here is passed on: the dispatcher says so.
func domainModel(m *mcpv1alpha1.DomainModel) registry.DomainModel {
	if m == nil {
		return registry.DomainModel{}
	}
	return registry.DomainModel{File: render.ModelDir + "/" + render.ModelFileName(m), Format: registry.ModelFormat(m.Format)}
}
