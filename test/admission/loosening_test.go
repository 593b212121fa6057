// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// class says which change of a field loosens: lets something through that was not before. Whatever loosens will need a verb.
type class string

const (
	// neutral: no change of it lets a call through or keeps one back.
	neutral class = "neutral"
	// revision: a change makes the server run something else, which loosens while it is Trusted.
	revision class = "revision"
	// either: a change can loosen, whichever way it goes: rules and networks look at the value.
	either class = "either"
	// more: a higher number loosens. moreOr0: so does 0, which lifts the bound.
	more    class = "more"
	moreOr0 class = "more, and 0 is the most"
	// later: a later time loosens, and none is the latest.
	later class = "later"
	// adding: each added entry loosens. removing: each removed entry loosens.
	adding   class = "adding"
	removing class = "removing"
)

// looser lists the values of an enum from the strictest to the loosest.
func looser(values ...string) class { return class(strings.Join(values, " < ")) }

var (
	denyAllow  = looser("Deny", "Allow")
	strictness = looser("Enforce", "Warn", "Off")
)

// loosening classes every leaf of a spec. A list or map of objects is one leaf.
var loosening = map[string]class{
	"MCPServer.description":  neutral,
	"MCPServer.domain":       either,
	"MCPServer.capabilities": either,
	"MCPServer.state":        neutral,

	"MCPServer.container.image":           revision,
	"MCPServer.container.imagePullPolicy": neutral,
	"MCPServer.container.command":         revision,
	"MCPServer.container.args":            revision,
	"MCPServer.container.workingDir":      revision,
	"MCPServer.container.env":             revision,
	"MCPServer.container.envFrom":         revision,
	"MCPServer.container.resources":       neutral,
	"MCPServer.container.volumeMounts":    revision,
	"MCPServer.container.livenessProbe":   neutral,
	"MCPServer.container.readinessProbe":  neutral,
	"MCPServer.container.startupProbe":    neutral,

	"MCPServer.container.securityContext.runAsUser":      either,
	"MCPServer.container.securityContext.runAsGroup":     either,
	"MCPServer.container.securityContext.rootFilesystem": looser("ReadOnly", "ReadWrite"),

	"MCPServer.remote.url":               revision,
	"MCPServer.remote.headersFrom":       revision,
	"MCPServer.remote.caBundleFrom.name": revision,
	"MCPServer.remote.caBundleFrom.key":  revision,
	"MCPServer.transport.type":           revision,
	"MCPServer.transport.port":           revision,
	"MCPServer.transport.path":           revision,
	"MCPServer.transport.isolation":      looser("Session", "Shared"),

	"MCPServer.replicas":                                neutral,
	"MCPServer.restartOn":                               neutral,
	"MCPServer.scaling":                                 neutral,
	"MCPServer.rollout.type":                            neutral,
	"MCPServer.rollout.maxUnavailable":                  neutral,
	"MCPServer.rollout.maxSurge":                        neutral,
	"MCPServer.rollout.progressDeadlineSeconds":         neutral,
	"MCPServer.pod.affinity":                            neutral,
	"MCPServer.pod.topologySpreadConstraints":           neutral,
	"MCPServer.pod.runtimeClassName":                    either,
	"MCPServer.pod.priorityClassName":                   neutral,
	"MCPServer.pod.labels":                              either,
	"MCPServer.pod.annotations":                         either,
	"MCPServer.pod.serviceAccountName":                  either,
	"MCPServer.pod.imagePullSecrets":                    neutral,
	"MCPServer.pod.volumes":                             revision,
	"MCPServer.pod.nodeSelector":                        neutral,
	"MCPServer.pod.tolerations":                         neutral,
	"MCPServer.pod.terminationGracePeriodSeconds":       neutral,
	"MCPServer.pod.securityContext.fsGroup":             either,
	"MCPServer.pod.securityContext.fsGroupChangePolicy": neutral,
	"MCPServer.pod.securityContext.supplementalGroups":  adding,
	"MCPServer.pod.securityContext.seccompProfile":      either,
	"MCPServer.dispatcher.resources":                    neutral,
	"MCPServer.dispatcher.logLevel":                     neutral,
	"MCPServer.service.type":                            looser("ClusterIP", "NodePort", "LoadBalancer"),
	"MCPServer.service.annotations":                     either,
	"MCPServer.service.port":                            neutral,

	"MCPServer.timeoutSeconds":            more,
	"MCPServer.limits.requestsPerMinute":  moreOr0,
	"MCPServer.limits.maxConcurrent":      more,
	"MCPServer.limits.maxSessions":        more,
	"MCPServer.limits.sessionIdleSeconds": more,
	"MCPServer.limits.maxRequestBytes":    more,
	"MCPServer.limits.maxResponseBytes":   more,
	"MCPServer.health.intervalSeconds":    neutral,
	"MCPServer.health.timeoutSeconds":     neutral,
	"MCPServer.health.failureThreshold":   neutral,
	"MCPServer.discovery.ttlSeconds":      more,
	"MCPServer.discovery.pinning":         looser("Manual", "PerRevision", "Off"),

	"MCPServer.trust.state":               looser("Untrusted", "Trusted"),
	"MCPServer.trust.expiresAt":           later,
	"MCPServer.trust.reason":              neutral,
	"MCPServer.trust.maxStalenessSeconds": moreOr0,
	"MCPServer.gating.destructive":        looser("Block", "Confirm"),
	"MCPServer.confirm.by":                looser("Approver", "Caller"),
	"MCPServer.confirm.ttlSeconds":        more,
	"MCPServer.gating.unannotated":        looser("Destructive", "Safe"),
	"MCPServer.gating.scope":              looser("Mutating", "Destructive"),
	"MCPServer.gating.blockedTools":       looser("Hide", "List"),

	"MCPServer.expose.tools":                   denyAllow,
	"MCPServer.expose.resources":               denyAllow,
	"MCPServer.expose.prompts":                 denyAllow,
	"MCPServer.expose.completions":             denyAllow,
	"MCPServer.passthrough":                    adding,
	"MCPServer.clientFeatures.sampling":        denyAllow,
	"MCPServer.clientFeatures.samplingTools":   denyAllow,
	"MCPServer.clientFeatures.elicitationForm": denyAllow,
	"MCPServer.clientFeatures.elicitationUrl":  denyAllow,
	"MCPServer.clientFeatures.roots":           denyAllow,
	"MCPServer.validation.arguments":           strictness,
	"MCPServer.validation.results":             strictness,
	"MCPServer.validation.formats":             looser("Assert", "Annotate"),
	"MCPServer.telemetry.otlpEndpoint":         neutral,
	"MCPServer.audit.payloads":                 neutral,
	"MCPServer.audit.redact":                   neutral,
	"MCPServer.audit.onFailure":                looser("Block", "BlockDestructive", "Continue"),
	"MCPServer.ruleSets":                       removing,

	"MCPTool.serverRef.name":        neutral,
	"MCPTool.toolName":              neutral,
	"MCPTool.state":                 looser("Disabled", "Enabled"),
	"MCPTool.timeoutSeconds":        more,
	"MCPTool.hints.destructive":     looser("True", "False"),
	"MCPTool.hints.readOnly":        looser("False", "True"),
	"MCPTool.hints.idempotent":      either,
	"MCPTool.hints.openWorld":       either,
	"MCPTool.pin.digest":            either,
	"MCPTool.contract.version":      either,
	"MCPTool.contract.deprecatedIn": either,
	"MCPTool.ruleSets":              removing,

	"RuleSet.type":               either,
	"RuleSet.priority":           either,
	"RuleSet.enforcement":        looser("Enforce", "Audit"),
	"RuleSet.format":             either,
	"RuleSet.servers.names":      removing,
	"RuleSet.servers.selector":   either,
	"RuleSet.tools.names":        removing,
	"RuleSet.tools.destructive":  looser("Any", "Only"),
	"RuleSet.callers.names":      removing,
	"RuleSet.callers.namespaces": removing,
	"RuleSet.callers.groups":     removing,
	"RuleSet.methods":            removing,
	"RuleSet.rules":              either,
}

func TestEveryFieldIsClassed(t *testing.T) {
	seen := map[string]bool{}
	for _, crd := range readCRDs(t) {
		spec := schemaOf(crd).Properties["spec"]
		visit(crd.Spec.Names.Kind, &spec, func(path string, s *apiextensionsv1.JSONSchemaProps) {
			if strings.ContainsAny(path, "[{") || below(path) || len(s.Properties) > 0 && !whole(path) {
				return
			}
			seen[path] = true
			got, ok := loosening[path]
			if !ok {
				t.Errorf("%s is in no class: say in this table which change of it loosens", path)
			}
			if values := strings.Split(string(got), " < "); len(values) > 1 && !sameValues(values, s.Enum) {
				t.Errorf("%s: the class %q does not have the values of the enum %s", path, got, s.Enum)
			}
		})
	}
	for path := range loosening {
		if !seen[path] {
			t.Errorf("%s is classed and is no field", path)
		}
	}
	t.Logf("%d fields classed", len(loosening))
}

// whole reports objects of Kubernetes' own types, which are one leaf here.
func whole(path string) bool {
	return strings.HasSuffix(path, ".resources") || strings.HasSuffix(path, ".pod.affinity") || strings.HasSuffix(path, "Probe") || strings.HasSuffix(path, ".servers.selector")
}

func below(path string) bool {
	return strings.Contains(path, ".resources.") || strings.Contains(path, ".pod.affinity.") || strings.Contains(path, "Probe.") || strings.Contains(path, ".servers.selector.")
}

func sameValues(values []string, enum []apiextensionsv1.JSON) bool {
	var have []string
	for _, v := range enum {
		have = append(have, strings.Trim(string(v.Raw), `"`))
	}
	slices.Sort(have)
	return slices.Equal(slices.Sorted(slices.Values(values)), have)
}
