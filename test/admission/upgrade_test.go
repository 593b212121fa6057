// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// The CRDs of an earlier state, with objects that hold each of their fields. They are never changed; a later state may be put
// beside them.
const (
	olderCRDs    = "testdata/older/crds"
	olderObjects = "testdata/older/objects/every-field.yaml"
)

func readOlder(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(olderObjects)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, document := range strings.Split(string(data), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(document), &u.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

// testNewCRDsOverOlderOnes applies today's CRDs over older ones, by plain kubectl apply: nothing of what is stored is lost, and all
// of it could be written today.
func testNewCRDsOverOlderOnes(t *testing.T, s *apiServer) {
	ctx := context.Background()
	s.applyCRDs(t, olderCRDs)
	namespace := s.namespace(t)
	var stored []*unstructured.Unstructured
	for _, object := range readOlder(t) {
		object.SetNamespace(namespace)
		status := object.Object["status"]
		if err := s.client.Create(ctx, object); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
		if status != nil {
			object.Object["status"] = status
			if err := s.client.Status().Update(ctx, object); err != nil {
				t.Fatalf("status of %s %s: %v", object.GetKind(), object.GetName(), err)
			}
		}
		stored = append(stored, object)
	}
	s.applyCRDs(t, crds)
	for _, before := range stored {
		name := before.GetKind() + " " + before.GetName()
		after := &unstructured.Unstructured{}
		after.SetGroupVersionKind(before.GroupVersionKind())
		if err := s.client.Get(ctx, client.ObjectKeyFromObject(before), after); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before.Object, after.Object); diff != "" {
			t.Errorf("%s after the new CRDs (-before +after):\n%s", name, diff)
		}
		if err := s.client.Update(ctx, after.DeepCopy()); err != nil {
			t.Errorf("%s can't be written any more: %v", name, err)
		}
		if status := after.DeepCopy(); status.Object["status"] != nil {
			if err := s.client.Status().Update(ctx, status); err != nil {
				t.Errorf("the status of %s can't be written any more: %v", name, err)
			}
		}
		// What is unchanged may be let pass though it is not valid, so it is written anew as well.
		anew := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": after.GetAPIVersion(), "kind": after.GetKind(), "spec": after.Object["spec"],
			"metadata": map[string]any{"name": after.GetName(), "namespace": "default"},
		}}
		if err := s.client.Create(ctx, anew, client.DryRunAll); err != nil {
			t.Errorf("%s could not be written today: %v", name, err)
		}
	}
}

// testStoredStays stores what is refused today, and changes another field of it: nobody has to mend at an upgrade what they
// don't touch.
func testStoredStays(t *testing.T, s *apiServer) {
	ctx := context.Background()
	s.applyCRDs(t, olderCRDs)
	stored := parse(t, s.namespace(t), `{kind: MCPServer, metadata: {name: files}, spec: {
		container: {image: "a:1\u00a0", command: [b], envFrom: [{secretRef: A_b}], env: [{name: A, secretKeyRef: {name: a, key: ..b}}],
			resources: {requests: {cpu: 2}, limits: {cpu: 1}}},
		pod: {labels: {team: a b}, nodeSelector: {pool: a b}, tolerations: [{value: a}]}}}`)
	until(t, "the older CRDs in force", func() bool { return s.client.Create(ctx, stored.DeepCopy(), client.DryRunAll) == nil })
	if err := s.client.Create(ctx, stored); err != nil {
		t.Fatal(err)
	}
	s.applyCRDs(t, crds)
	until(t, "the new CRDs in force", func() bool {
		err := s.client.Patch(ctx, stored.DeepCopy(), merge(`{"spec":{"pod":{"labels":{"team":"c d"}}}}`), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "keys and values must be those of Kubernetes labels")
	})
	if err := s.client.Patch(ctx, stored.DeepCopy(), merge(`{"spec":{"state":"Disabled","pod":{"terminationGracePeriodSeconds":5}}}`)); err != nil {
		t.Errorf("another field can't be changed any more: %v", err)
	}
}

// TestOlderObjectsHoldEveryField holds the stored objects to the fields of their CRDs: what no object has can't be seen to be lost.
func TestOlderObjectsHoldEveryField(t *testing.T) {
	held := map[string]bool{}
	for _, object := range readOlder(t) {
		holds(object.GetKind(), object.Object, held)
	}
	for _, crd := range readCRDsOf(t, olderCRDs) {
		visit("", schemaOf(crd), func(path string, _ *apiextensionsv1.JSONSchemaProps) {
			name := crd.Spec.Names.Kind + path
			if strings.HasSuffix(path, "{}") || strings.HasSuffix(path, "[]") || strings.Contains(path, ".claims") || path == ".spec.rules[].shapes" || held[name] {
				return
			}
			t.Errorf("no object holds %s", name)
		})
	}
}

func holds(path string, value any, held map[string]bool) {
	held[path] = true
	switch v := value.(type) {
	case map[string]any:
		for name, below := range v {
			holds(path+"."+name, below, held)
		}
	case []any:
		for _, below := range v {
			holds(path+"[]", below, held)
		}
	}
}

// narrowed are faults that grows finds, each with its reason: either nothing is refused that was not, or it came before a first
// release.
var narrowed = map[string]string{
	"MCPServer.spec.pod.volumes[]: another rule: [has(self.configMap), has(self.secret), has(self.emptyDir), has(self.persistentVolumeClaim), has(self.projected), has(self.csi), has(self.ephemeral)].filter(x, x).size() == 1": "more sources to choose one from",
	"MCPTool.spec.contract: another rule: has(self.version) || has(self.deprecatedIn) || has(self.inputSchema) || has(self.outputSchema)":                                                                                        "more to promise one of",
	"MCPServer.spec.transport.port: another rule: self < 7310 || self > 7313":                                                                                                                                                    "the dispatcher's metrics got port 7313 before a first release",
}

// narrowedAt are places where more is refused than before, and why nothing is lost: a regular expression of what grows says.
var narrowedAt = map[string]string{
	`^MCPServer\.spec\.pod\.(labels|nodeSelector)({}: maxLength is 63 now|: another rule)`:     couldNotRun,
	`^MCPServer\.spec\.pod\.tolerations: another rule`:                                         couldNotRun,
	`^MCPServer\.spec\.(container|dispatcher)\.resources: another rule`:                        couldNotRun,
	`^MCPServer\.spec\.container\.(image|envFrom\[\]\.(secretRef|configMapRef)): another rule`: couldNotRun,
	`^MCPServer\.spec\..*(KeyRef|caBundleFrom)\.key: another rule`:                             "no Secret or ConfigMap has such a key",
	`^RuleSet\.spec\.methods: another rule`:                                                    "the dispatcher answers what is refused now itself, so that no set of it was ever asked",
	`^RuleSet\.spec: another rule`:                                                             "SHACL was refused before, in another rule, and what else the rules say of a rule they said with it",
}

const couldNotRun = "the API server refused the Deployment of whatever is refused now"

func narrowedOnPurpose(fault string) bool {
	if narrowed[fault] != "" {
		return true
	}
	for at := range narrowedAt {
		if regexp.MustCompile(at).MatchString(fault) {
			return true
		}
	}
	return false
}

// TestCRDsOnlyGrow compares today's CRDs with older ones, field by field: whatever was accepted still is.
func TestCRDsOnlyGrow(t *testing.T) {
	today := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range readCRDs(t) {
		today[crd.Name] = crd
	}
	for _, older := range readCRDsOf(t, olderCRDs) {
		newer := today[older.Name]
		if newer == nil {
			t.Errorf("%s is gone", older.Name)
			continue
		}
		for _, fault := range append(namesGrow(older, newer), grows(older.Spec.Names.Kind, schemaOf(older), schemaOf(newer))...) {
			if !narrowedOnPurpose(fault) {
				t.Errorf("%s\nCRDs only grow: where nothing is refused that was accepted, say why in narrowed", fault)
			}
		}
	}
}

func namesGrow(older, newer *apiextensionsv1.CustomResourceDefinition) (faults []string) {
	a, b := older.Spec.Versions[0], newer.Spec.Versions[0]
	if a.Name != b.Name || older.Spec.Scope != newer.Spec.Scope || older.Spec.Names.Plural != newer.Spec.Names.Plural {
		faults = append(faults, older.Name+": another version, scope or name")
	}
	for _, name := range append(older.Spec.Names.ShortNames, older.Spec.Names.Categories...) {
		if !slices.Contains(append(newer.Spec.Names.ShortNames, newer.Spec.Names.Categories...), name) {
			faults = append(faults, older.Name+": no short name or category "+name+" any more")
		}
	}
	if diff := cmp.Diff(a.Subresources, b.Subresources); diff != "" {
		faults = append(faults, older.Name+": other subresources: "+diff)
	}
	for _, column := range a.AdditionalPrinterColumns {
		if !slices.ContainsFunc(b.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.Name == column.Name }) {
			faults = append(faults, older.Name+": no column "+column.Name+" any more")
		}
	}
	return faults
}

// grows gives what a schema refuses or drops that an older one accepted and kept.
func grows(path string, older, newer *apiextensionsv1.JSONSchemaProps) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, path+": "+fmt.Sprintf(format, args...)) }
	if older.Type != newer.Type || older.Format != newer.Format || older.XIntOrString != newer.XIntOrString {
		fault("type %s %s was %s %s", newer.Type, newer.Format, older.Type, older.Format)
	}
	if keeps(older) && !keeps(newer) {
		fault("unknown fields are dropped that were kept")
	}
	if older.Pattern != newer.Pattern {
		fault("another pattern: %s was %s", newer.Pattern, older.Pattern)
	}
	for _, value := range older.Enum {
		if !slices.ContainsFunc(newer.Enum, func(v apiextensionsv1.JSON) bool { return string(v.Raw) == string(value.Raw) }) {
			fault("value %s is gone", value.Raw)
		}
	}
	if len(older.Enum) == 0 && len(newer.Enum) > 0 {
		fault("only some values are accepted now")
	}
	for _, name := range newer.Required {
		if !slices.Contains(older.Required, name) {
			fault("%s is required now", name)
		}
	}
	faults = append(faults, boundsGrow(path, older, newer)...)
	for _, rule := range newer.XValidations {
		if !slices.ContainsFunc(older.XValidations, func(r apiextensionsv1.ValidationRule) bool { return r.Rule == rule.Rule }) {
			fault("another rule: %s", rule.Rule)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(older.Properties)) {
		a := older.Properties[name]
		b, ok := newer.Properties[name]
		if !ok {
			fault("%s is gone", name)
			continue
		}
		faults = append(faults, grows(path+"."+name, &a, &b)...)
	}
	if older.Items != nil && newer.Items != nil {
		faults = append(faults, grows(path+"[]", older.Items.Schema, newer.Items.Schema)...)
	}
	if older.AdditionalProperties != nil && newer.AdditionalProperties != nil {
		faults = append(faults, grows(path+"{}", older.AdditionalProperties.Schema, newer.AdditionalProperties.Schema)...)
	}
	return faults
}

func keeps(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

func boundsGrow(path string, older, newer *apiextensionsv1.JSONSchemaProps) (faults []string) {
	least := func(what string, a, b *int64) {
		if b != nil && (a == nil && *b > 0 || a != nil && *b > *a) {
			faults = append(faults, fmt.Sprintf("%s: %s is %d now", path, what, *b))
		}
	}
	most := func(what string, a, b *int64) {
		if b != nil && (a == nil || *b < *a) {
			faults = append(faults, fmt.Sprintf("%s: %s is %d now", path, what, *b))
		}
	}
	least("minLength", older.MinLength, newer.MinLength)
	most("maxLength", older.MaxLength, newer.MaxLength)
	least("minItems", older.MinItems, newer.MinItems)
	most("maxItems", older.MaxItems, newer.MaxItems)
	least("minProperties", older.MinProperties, newer.MinProperties)
	most("maxProperties", older.MaxProperties, newer.MaxProperties)
	if newer.Minimum != nil && (older.Minimum == nil || *newer.Minimum > *older.Minimum) {
		faults = append(faults, fmt.Sprintf("%s: minimum is %v now", path, *newer.Minimum))
	}
	if newer.Maximum != nil && (older.Maximum == nil || *newer.Maximum < *older.Maximum) {
		faults = append(faults, fmt.Sprintf("%s: maximum is %v now", path, *newer.Maximum))
	}
	return faults
}
