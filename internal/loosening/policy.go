// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package loosening

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationv1ac "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// Kinds that have a verb.
const (
	KindMCPServer = "MCPServer"
	KindMCPTool   = "MCPTool"
)

// Guard is who may loosen objects of one kind: those who have Verb on Resource. Role is the ClusterRole that grants it.
type Guard struct {
	Kind, Resource, Verb, Role string
}

// Guards are the two verbs of Toolgate.
var Guards = []Guard{
	{Kind: KindMCPServer, Resource: "mcpservers", Verb: "trust", Role: "toolgate-truster"},
	{Kind: KindMCPTool, Resource: "mcptools", Verb: "approve", Role: "toolgate-approver"},
}

// Name of the policy and of its binding.
func (g Guard) Name() string { return "toolgate-" + g.Verb }

// Policy makes the policy of a kind, and its binding.
func Policy(g Guard) (*admissionregistrationv1ac.ValidatingAdmissionPolicyApplyConfiguration, *admissionregistrationv1ac.ValidatingAdmissionPolicyBindingApplyConfiguration, error) {
	loosened, err := loosenedBy(g.Kind)
	if err != nil {
		return nil, nil, err
	}
	check := fmt.Sprintf("authorizer.group('%s').resource('%s').namespace(object.metadata.namespace).name(object.metadata.name).check('%s').allowed()",
		mcpv1alpha1.GroupVersion.Group, g.Resource, g.Verb)
	policy := admissionregistrationv1ac.ValidatingAdmissionPolicy(g.Name()).WithLabels(labels()).WithSpec(admissionregistrationv1ac.ValidatingAdmissionPolicySpec().
		WithFailurePolicy(admissionv1.Fail).
		WithMatchConstraints(admissionregistrationv1ac.MatchResources().WithResourceRules(admissionregistrationv1ac.NamedRuleWithOperations().
			WithAPIGroups(mcpv1alpha1.GroupVersion.Group).WithAPIVersions("*").WithResources(g.Resource).
			WithOperations(admissionv1.Create, admissionv1.Update).WithScope(admissionv1.NamespacedScope))).
		WithVariables(variables(g.Kind)...).
		WithVariables(variable("loosened", loosened)).
		WithValidations(admissionregistrationv1ac.Validation().
			WithExpression(fmt.Sprintf("variables.loosened.size() == 0 || %s", check)).
			WithReason(metav1.StatusReasonForbidden).
			WithMessage(fmt.Sprintf("this loosens what the %s lets through, which needs the verb %s on %s.%s: see ClusterRole %s", g.Kind, g.Verb, g.Resource, mcpv1alpha1.GroupVersion.Group, g.Role)).
			WithMessageExpression(g.message())))
	binding := admissionregistrationv1ac.ValidatingAdmissionPolicyBinding(g.Name()).WithLabels(labels()).
		WithSpec(admissionregistrationv1ac.ValidatingAdmissionPolicyBindingSpec().WithPolicyName(g.Name()).WithValidationActions(admissionv1.Deny))
	return policy, binding, nil
}

func labels() map[string]string { return map[string]string{"app.kubernetes.io/name": "toolgate"} }

// message names the fields, the verb, and what a cluster admin does to grant it.
func (g Guard) message() string {
	return fmt.Sprintf("variables.loosened.join(', ') + ': this loosens what ' + object.metadata.name + ' lets through, which needs the verb %s on %s.%s. "+
		"A cluster admin grants it with: kubectl -n ' + object.metadata.namespace + ' create rolebinding ' + object.metadata.name + '-%s --clusterrole=%s --user=' + request.userInfo.username",
		g.Verb, g.Resource, mcpv1alpha1.GroupVersion.Group, strings.TrimPrefix(g.Role, "toolgate-"), g.Role)
}

func variable(name, expression string) *admissionregistrationv1ac.VariableApplyConfiguration {
	return admissionregistrationv1ac.Variable().WithName(name).WithExpression(expression)
}

// toldApart are the reasons of Registered that a tool has once its name was held against all others, and is none that a person
// must declare. A person's word about a name with a capital needs no verb then. Where nobody knows, it could be the second one
// of two that are confused, of which only the one without capitals is declared beforehand without the verb. What sessions alone list is
// held against nothing before it is admitted, and is NotListed until then, whatever else is wrong with it.
var toldApart = []string{
	mcpv1alpha1.ReasonRegistered, mcpv1alpha1.ReasonNoInputSchema, mcpv1alpha1.ReasonInvalidSchema,
	mcpv1alpha1.ReasonContractBroken, mcpv1alpha1.ReasonDefinitionChanged, mcpv1alpha1.ReasonNotPinned,
}

// registered says in CEL whether the object had one of these reasons.
func registered(reasons ...string) string {
	return fmt.Sprintf("(oldObject != null && oldObject.?status.?conditions.orValue([]).exists(c, c.type == '%s' && c.reason in ['%s']))",
		mcpv1alpha1.ConditionRegistered, strings.Join(reasons, "', '"))
}

// variables are what expressions of fields refer to. An object that is new was an empty one before: what is absent is strict.
func variables(kind string) []*admissionregistrationv1ac.VariableApplyConfiguration {
	out := []*admissionregistrationv1ac.VariableApplyConfiguration{
		variable("is", "object.spec"),
		variable("was", "oldObject == null ? {} : oldObject.spec"),
	}
	if kind == KindMCPTool {
		const ours = "m.manager == 'toolgate' || m.?subresource.orValue('') != '' || !('f:spec' in m.?fieldsV1.orValue({}))"
		return append(out,
			variable("people", "object.metadata.?managedFields.orValue([]).exists(m, !("+ours+"))"),
			variable("peopleBefore", "oldObject != null && oldObject.metadata.?managedFields.orValue([]).exists(m, !("+ours+"))"),
			variable("needsWord", "!object.spec.toolName.matches('^[A-Za-z0-9_.-]{1,128}$') || "+registered(mcpv1alpha1.ReasonDuplicateName)+
				" || object.spec.toolName.matches('[A-Z]') && !"+registered(toldApart...)),
			variable("declares", "variables.needsWord && variables.people && !variables.peopleBefore && object.spec.?state.orValue('Enabled') != 'Disabled'"),
		)
	}
	const forGood = "%[1]s.?trust.?state.orValue('Untrusted') == 'Trusted' && !%[1]s.?trust.?expiresAt.hasValue()"
	return append(out,
		variable("trusted", "[variables.was, variables.is].all(s, s.?trust.?state.orValue('Untrusted') == 'Trusted')"),
		variable("isForGood", fmt.Sprintf(forGood, is)),
		variable("wasForGood", fmt.Sprintf(forGood, was)),
	)
}

// loosenedBy is CEL that lists the fields which a change loosens, in the order of their names.
func loosenedBy(kind string) (string, error) {
	d, err := defaultsOf(kind)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("[\n")
	if kind == KindMCPServer {
		// RuleSets select servers by their labels.
		fmt.Fprintf(&b, "  %s && object.metadata.?labels != oldObject.metadata.?labels ? 'metadata.labels' : '',\n", trusted)
	}
	for _, key := range slices.Sorted(maps.Keys(Table)) {
		path, mine := strings.CutPrefix(key, kind+".")
		if !mine {
			continue
		}
		e, err := expression(Table[key], path, d)
		if err != nil {
			return "", fmt.Errorf("%s: %w", key, err)
		}
		if e != "" {
			fmt.Fprintf(&b, "  %s ? 'spec.%s' : '',\n", e, path)
		}
	}
	b.WriteString("].filter(f, f != '')")
	return b.String(), nil
}

// Manifest is the policy of a kind and its binding as YAML, as config/admission holds it.
func Manifest(g Guard) ([]byte, error) {
	policy, binding, err := Policy(g)
	if err != nil {
		return nil, err
	}
	out := []byte("# Made from the table in internal/loosening by `make generate`: whatever loosens needs the verb " + g.Verb + ".\n")
	for _, o := range []any{policy, binding} {
		data, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("encoding the policy of verb %s: %w", g.Verb, err)
		}
		out = append(append(out, "---\n"...), data...)
	}
	return out, nil
}
