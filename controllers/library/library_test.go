// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
	"toolgate.dev/toolgate/controllers/polled"
	"toolgate.dev/toolgate/controllers/writes"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/render/document"
	"toolgate.dev/toolgate/internal/rules"
)

var key = types.NamespacedName{Namespace: "demo", Name: "files"}

// input is a server with two tools and two sets, of which one does not compile.
func input() document.Input {
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name), Generation: 1, ResourceVersion: "1"}
	}
	tool := func(name string) mcpv1alpha1.MCPTool {
		return mcpv1alpha1.MCPTool{
			ObjectMeta: meta("files." + name),
			Spec:       mcpv1alpha1.MCPToolSpec{ServerRef: mcpv1alpha1.ServerRef{Name: "files"}, ToolName: name},
		}
	}
	set := func(name, when string) mcpv1alpha1.RuleSet {
		return mcpv1alpha1.RuleSet{
			ObjectMeta: meta(name),
			Spec: mcpv1alpha1.RuleSetSpec{
				Type:  mcpv1alpha1.RuleSetSafety,
				Rules: []mcpv1alpha1.Rule{{Name: "one", Action: mcpv1alpha1.ActionReject, When: when}},
			},
		}
	}
	s := &mcpv1alpha1.MCPServer{
		ObjectMeta: meta("files"),
		Spec:       mcpv1alpha1.MCPServerSpec{Container: &mcpv1alpha1.Container{Image: "files:1", Command: []string{"files"}}},
	}
	return document.Input{
		Server: s, Tools: []mcpv1alpha1.MCPTool{tool("read"), tool("write")},
		RuleSets: []mcpv1alpha1.RuleSet{set("broken", "args.("), set("sound", "false")}, Revisions: []string{"aaa"},
	}
}

func render(t *testing.T, l *library.Library, in document.Input) *library.Document {
	t.Helper()
	doc, err := l.Document(in)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// encoded is the document under the first sequence, in one piece.
func encoded(t *testing.T, doc *library.Document) []byte {
	t.Helper()
	files, err := doc.Next(library.Held{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return files[registry.FileName]
}

// read reads a document of one piece; nil is none.
func read(l *library.Library, key types.NamespacedName, data []byte) library.Held {
	files := shard.Files{}
	if data != nil {
		files[registry.FileName] = data
	}
	return l.Read(key, files, files.Load)
}

// what is written once by each of three reconcilers: the inputs are equal, and not the same.
func TestEqualInputsAreRenderedOnce(t *testing.T) {
	l := library.New()
	docs := make([]*library.Document, 8)
	var asking sync.WaitGroup
	for i := range docs {
		asking.Go(func() { docs[i], _ = l.Document(input()) })
	}
	asking.Wait()
	for i := range docs {
		if docs[i] == nil || docs[i] != docs[0] {
			t.Errorf("document %d was made by itself", i)
		}
	}
}

func TestEachChangeIsRendered(t *testing.T) {
	for name, change := range map[string]func(*document.Input){
		"a field of the server's spec":        func(in *document.Input) { in.Server.Generation++ },
		"a label of the server":               func(in *document.Input) { in.Server.Labels = map[string]string{"tier": "prod"} },
		"another server of the same name":     func(in *document.Input) { in.Server.UID = "again" },
		"something of a tool":                 func(in *document.Input) { in.Tools[0].ResourceVersion = "2" },
		"a tool that has gone":                func(in *document.Input) { in.Tools = in.Tools[1:] },
		"a rule":                              func(in *document.Input) { in.RuleSets[1].Generation++ },
		"a set that was deleted and is again": func(in *document.Input) { in.RuleSets[1].UID = "again" },
		"a set that has gone":                 func(in *document.Input) { in.RuleSets = in.RuleSets[:1] },
		"a pod of another revision":           func(in *document.Input) { in.Revisions = append(in.Revisions, "bbb") },
	} {
		t.Run(name, func(t *testing.T) {
			l := library.New()
			before := render(t, l, input())
			in := input()
			change(&in)
			if render(t, l, in) == before {
				t.Error("the old document was given")
			}
		})
	}
}

// TestNothingElseCounts holds the key to what rendering reads: what the key leaves out must not be in the document.
func TestNothingElseCounts(t *testing.T) {
	in := input()
	before := encoded(t, render(t, library.New(), input()))
	in.Server.ResourceVersion, in.Server.Annotations = "2", map[string]string{"a": "b"}
	in.Server.Finalizers, in.Server.OwnerReferences = []string{"f"}, []metav1.OwnerReference{{Name: "o", UID: "o"}}
	in.Server.Status = mcpv1alpha1.MCPServerStatus{
		URL: "http://elsewhere", Transport: mcpv1alpha1.TransportStreamableHTTP, RegistryDigest: "sha256:0",
		Conditions: []metav1.Condition{{Type: mcpv1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
		Revisions:  []mcpv1alpha1.RevisionStatus{{Name: "zzz", FirstCatalogueDigest: "v1:sha256:0"}},
	}
	for i := range in.RuleSets {
		rs := &in.RuleSets[i]
		rs.ResourceVersion, rs.Labels, rs.Annotations = "2", map[string]string{"a": "b"}, map[string]string{"a": "b"}
		rs.Status = mcpv1alpha1.RuleSetStatus{RuleErrors: []mcpv1alpha1.RuleError{{Message: "m"}}, MatchedServers: new(int32(7))}
	}
	if diff := cmp.Diff(string(before), string(encoded(t, render(t, library.New(), in)))); diff != "" {
		t.Errorf("the document depends on more than the library goes by (-want +got):\n%s", diff)
	}
}

func TestBrokenSetsDenyWhatTheyGovern(t *testing.T) {
	in := input()
	doc := render(t, library.New(), in)
	broken := doc.BrokenSets()
	if len(broken) != 1 || broken[0].Name() != "broken" || !strings.Contains(broken[0].Broken(), "rule one, field when") {
		t.Errorf("broken are %v", broken)
	}
	in.RuleSets[0].Generation++
	in.RuleSets[0].Spec.Enforcement = mcpv1alpha1.EnforcementAudit
	if broken := render(t, library.New(), in).BrokenSets(); len(broken) != 0 {
		t.Errorf("a set in Audit denies something: %v", broken)
	}
}

func TestTheNextSequence(t *testing.T) {
	l := library.New()
	doc := render(t, l, input())
	other := input()
	other.Server.Generation++
	other.Server.Spec.Description = "another"
	// Each document under the sequence 7.
	six := []decide.Pod{pod("sha256:else", 6)}
	seventh := func(doc *library.Document) []byte {
		files, err := doc.Next(library.Held{}, six)
		if err != nil {
			t.Fatal(err)
		}
		return files[registry.FileName]
	}
	same, different := seventh(doc), seventh(render(t, library.New(), other))
	for name, tc := range map[string]struct {
		live []byte
		pods []decide.Pod
		want int64
	}{
		"begins with one":                                {want: 1},
		"stays while nothing has changed":                {live: same, want: 7},
		"rises with a change":                            {live: different, want: 8},
		"begins anew after what can't be read":           {live: []byte("{}"), want: 1},
		"stays while a pod has something older":          {live: same, pods: []decide.Pod{pod("sha256:else", 6)}, want: 7},
		"stays while a pod has it":                       {live: same, pods: []decide.Pod{pod(registry.Digest(same), 7)}, want: 7},
		"passes what a pod has under the same":           {live: same, pods: []decide.Pod{pod("sha256:else", 7)}, want: 8},
		"passes what a pod has under a higher one":       {live: same, pods: []decide.Pod{pod("sha256:else", 40)}, want: 41},
		"passes what pods had before it was deleted":     {pods: []decide.Pod{pod("sha256:else", 3), {}, pod("sha256:else", 9)}, want: 10},
		"rises above the document that pods still have":  {live: different, pods: []decide.Pod{pod(registry.Digest(different), 7)}, want: 8},
		"counts no pod that has not got a document yet":  {live: same, pods: []decide.Pod{pod("", 0)}, want: 7},
		"passes a pod that is ahead of a change as well": {live: different, pods: []decide.Pod{pod("sha256:else", 12)}, want: 13},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := doc.Next(read(l, key, tc.live), tc.pods)
			if err != nil {
				t.Fatal(err)
			}
			data := files[registry.FileName]
			var got struct{ Sequence int64 }
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if got.Sequence != tc.want {
				t.Errorf("sequence %d, want %d", got.Sequence, tc.want)
			}
			if !doc.Is(read(l, key, data)) {
				t.Error("what was encoded is not the document")
			}
		})
	}
}

func pod(digest string, sequence int64) decide.Pod {
	return decide.Pod{Seen: polled.Observation{State: &registry.State{Supports: registry.Supported(), Registry: registry.RegistryState{Digest: digest, Sequence: sequence}}}}
}

func TestWhatDocumentsHeld(t *testing.T) {
	l := library.New()
	in := input()
	first := read(l, key, encoded(t, render(t, l, in)))
	in.RuleSets[1].Generation = 2
	second := read(l, key, encoded(t, render(t, l, in)))
	// set is one of the two as it is rendered now, at a generation and after a change.
	set := func(i int, generation int64, change func(*document.Input)) rules.Set {
		in := input()
		in.RuleSets[i].Generation = generation
		if change != nil {
			change(&in)
		}
		out, _ := document.SetFor(&in.RuleSets[i], in.Server, in.Tools, l.Broken(&in.RuleSets[i]))
		return out
	}
	again := func(in *document.Input) {
		in.RuleSets[1].UID, in.RuleSets[1].Spec.Rules[0].When = "again", "true"
	}
	named := func(in *document.Input) { in.Tools[0].Spec.RuleSets = []string{"sound"} }
	const broken, sound = 0, 1
	for name, tc := range map[string]struct {
		held library.Held
		set  rules.Set
		want bool
	}{
		"what it was made of":                     {second, set(sound, 2, nil), true},
		"not an older generation":                 {second, set(sound, 1, nil), false},
		"an older document an older one":          {first, set(sound, 1, nil), true},
		"not a set that was deleted and is again": {first, set(sound, 1, again), false},
		"not a set that a tool has named since":   {first, set(sound, 1, named), false},
		"a set that denies what it governs":       {second, set(broken, 1, nil), true},
		"not a set that it has not":               {second, rules.Set{Name: "none"}, false},
		"nothing, where it is none":               {library.Held{}, set(sound, 2, nil), false},
		"what is known by its digest":             {l.Known(key, first.Digest), set(sound, 1, nil), true},
		"nothing of another server":               {l.Known(types.NamespacedName{Namespace: "demo", Name: "other"}, first.Digest), set(sound, 1, nil), false},
		"nothing that can't be read":              {read(l, key, []byte("scribbled over")), set(sound, 1, nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.held.Has(new(library.Namer).Name(tc.set)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	l := library.New()
	doc := render(t, l, input())
	// nth is the document under the sequence n.
	nth := func(n int64) library.Held {
		files, err := doc.Next(library.Held{}, []decide.Pod{pod("sha256:else", n-1)})
		if err != nil {
			t.Fatal(err)
		}
		return l.Read(key, files, files.Load)
	}
	first := nth(1)
	for i := range int64(16) {
		nth(i + 2)
	}
	if l.Known(key, first.Digest).Digest != "" {
		t.Error("more than 16 documents of one server are remembered")
	}
	last := nth(17)
	if l.Known(key, last.Digest).Digest == "" {
		t.Error("the last document is not remembered")
	}
	l.Forget(key)
	if l.Known(key, last.Digest).Digest != "" {
		t.Error("a server that is gone is remembered")
	}
}

func TestRefusalsAreNewsOnce(t *testing.T) {
	l := library.New()
	why := decide.Refusal{Reason: mcpv1alpha1.ReasonRegistryTooLarge, Message: "too large"}
	if l.Tried(key) {
		t.Error("a document was tried that nobody has written")
	}
	for i, tc := range []struct {
		why  decide.Refusal
		news bool
	}{{decide.Refusal{}, true}, {decide.Refusal{}, false}, {why, true}, {why, false}, {decide.Refusal{}, true}} {
		if news := l.Refuse(key, tc.why); news != tc.news || l.Refused(key) != tc.why || !l.Tried(key) {
			t.Errorf("step %d: news is %v, refused is %v, tried is %v", i, news, l.Refused(key), l.Tried(key))
		}
	}
}

// TestADocumentThatNoDispatcherWouldReadIsRefused: an older release does not know all that a newer one has stored.
func TestADocumentThatNoDispatcherWouldReadIsRefused(t *testing.T) {
	in := input()
	in.Server.Spec.Validation.Arguments, in.Server.Spec.Confirm.By = "Later", "Nobody"
	_, err := library.New().Document(in)
	refused, err := writes.Classify(err)
	if err != nil || refused.Reason != mcpv1alpha1.ReasonInvalidSpec {
		t.Fatalf("refused %+v, error %v", refused, err)
	}
	for _, words := range []string{`policy.confirm.by "Nobody" is not one of Caller, Approver; policy.validation.arguments "Later"`, "stays in force", "give the field a value"} {
		if !strings.Contains(refused.Message, words) {
			t.Errorf("%q does not say %q", refused.Message, words)
		}
	}
}

// TestADocumentHoldsASchemaAsItIs: encoding a document changes blanks and escapes of a schema, which is no other set.
func TestADocumentHoldsASchemaAsItIs(t *testing.T) {
	l := library.New()
	in := input()
	in.RuleSets[1].Spec.Format = mcpv1alpha1.RuleFormatJSONSchema
	in.RuleSets[1].Spec.Rules[0].When = ""
	in.RuleSets[1].Spec.Rules[0].Schema = &runtime.RawExtension{Raw: []byte(`{ "properties": {"a": {"pattern": "<\u003c&\u2028"}} }`)}
	held := read(l, key, encoded(t, render(t, l, in)))
	if set, _ := document.SetFor(&in.RuleSets[1], in.Server, in.Tools, l.Broken(&in.RuleSets[1])); !held.Has(new(library.Namer).Name(set)) || set.Broken != "" {
		t.Errorf("the document does not hold %+v", set)
	}
}
