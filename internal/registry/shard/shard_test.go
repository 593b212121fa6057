// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package shard_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/shard"
	"toolgate.dev/toolgate/internal/rules"
)

// tool is one of a catalogue: its digest can't be compressed.
func tool(i int) registry.Tool {
	return registry.Tool{Name: fmt.Sprintf("project.issues.search_%05d", i), Digest: digest(fmt.Sprint(i))}
}

func digest(of string) string { return fmt.Sprintf("v1:sha256:%x", sha256.Sum256([]byte(of))) }

// document is that of a server with as many tools in each of its revisions.
func document(tools int, revisions ...string) *registry.Document {
	doc := &registry.Document{
		Version: registry.Version, Sequence: 3,
		Server:   registry.Server{Namespace: "ns", Name: "files", URL: "http://files.ns.svc/mcp"},
		Upstream: registry.Upstream{Transport: registry.TransportStdio, Isolation: registry.IsolationSession},
		Policy: registry.Policy{TimeoutSeconds: 30, Expose: registry.Expose{Tools: true, Resources: true}, Passthrough: []string{"x/y"},
			Discovery: registry.Discovery{PinningOff: true}, Trust: registry.Trust{Trusted: true}},
		Telemetry:   registry.Telemetry{OTLPEndpoint: "http://collector:4318"},
		DomainModel: registry.DomainModel{File: "model.ttl", Format: registry.ModelTurtle},
		Revisions:   map[string]registry.Revision{},
		RuleSets:    []rules.Set{set("paths", "args.path"), set("times", "args.time")},
	}
	for _, name := range revisions {
		rev := registry.Revision{Tools: []registry.Tool{}}
		for i := range tools {
			rev.Tools = append(rev.Tools, tool(i))
		}
		doc.Revisions[name] = rev
	}
	return doc
}

func set(name, when string) rules.Set {
	return rules.Set{Name: name, Type: rules.TypePolicy, Format: rules.FormatCEL, Rules: []rules.Rule{{Name: "r", Action: rules.Reject, When: when + ` == "<&>"`}}}
}

func plan(t testing.TB, doc *registry.Document) *shard.Plan {
	t.Helper()
	p, err := shard.NewPlan(doc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func files(t testing.TB, p *shard.Plan, sequence int64, form shard.Form) shard.Files {
	t.Helper()
	f, err := p.Files(sequence, form)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func decode(t testing.TB, f shard.Files) *registry.Document {
	t.Helper()
	first, err := shard.Root(f.Load)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := shard.Decode(first, f.Load)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// A member that is added to documents must be in these tests' documents too: they find out whether shards hold it.
func TestNoMemberOfADocumentIsForgotten(t *testing.T) {
	doc := reflect.ValueOf(document(1, "r1")).Elem()
	for i := range doc.NumField() {
		if doc.Field(i).IsZero() {
			t.Errorf("the documents of these tests have no %s", doc.Type().Field(i).Name)
		}
	}
}

func names(f shard.Files) []string { return slices.Sorted(maps.Keys(f)) }

// objectSizes are those of the objects in JSON, without their metadata: the texts of a document are together in one.
func objectSizes(t testing.TB, f shard.Files) (largest, total int) {
	t.Helper()
	texts := 0
	for name, data := range f {
		if !strings.HasSuffix(name, ".gz") {
			quoted, err := json.Marshal(string(data))
			if err != nil {
				t.Fatal(err)
			}
			texts += len(quoted)
			continue
		}
		size := base64.StdEncoding.EncodedLen(len(data))
		largest, total = max(largest, size), total+size
	}
	return max(largest, texts), total + texts
}

const room = shard.ObjectBytes - 16<<10

func TestTenThousandToolsComeBackFromTheirFiles(t *testing.T) {
	for name, doc := range map[string]*registry.Document{
		"no tools":                            document(0, "r1"),
		"a few tools":                         document(10, "r1", "r2"),
		"as many as make shards":              document(2000, "r1"),
		"ten thousand":                        document(10000, "r1"),
		"ten thousand in four revisions":      document(10000, "r1", "r2", "r3"),
		"ten thousand that differ everywhere": differing(10000, "r1", "r2"),
		"ten thousand that are all withheld":  withheld(10000, "r1", "r2"),
		"a hundred large RuleSets":            withSets(100),
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, doc)
			if p.TooLarge() != nil {
				t.Fatal(p.TooLarge())
			}
			f := files(t, p, 3, shard.Form{})
			checkSame(t, doc, decode(t, f))
			largest, total := objectSizes(t, f)
			t.Logf("%d files, the largest object has %d bytes, all have %d", len(f), largest, total)
			if largest > room {
				t.Errorf("an object has %d bytes, and with its metadata more than %d", largest, shard.ObjectBytes)
			}
			again := files(t, plan(t, shuffled(doc)), 3, shard.Form{})
			if !maps.EqualFunc(f, again, bytes.Equal) {
				t.Error("equal content gives other bytes")
			}
		})
	}
}

// checkSame compares two documents by their bytes in one piece, which is much faster than by their members.
func checkSame(t *testing.T, want, got *registry.Document) {
	t.Helper()
	left, _, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	right, _, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(left, right) {
		t.Error(cmp.Diff(want.Sorted(), got, cmpopts.EquateEmpty()))
	}
}

func differing(tools int, revisions ...string) *registry.Document {
	doc := document(tools, revisions...)
	for name, rev := range doc.Revisions {
		for i := range rev.Tools {
			rev.Tools[i].Digest = digest(name + fmt.Sprint(i))
		}
	}
	return doc
}

func withheld(tools int, revisions ...string) *registry.Document {
	doc := differing(tools, revisions...)
	for _, rev := range doc.Revisions {
		for i := range rev.Tools {
			rev.Tools[i].Withheld = "DefinitionChanged"
			rev.Tools[i].Message = fmt.Sprintf("no definition of tool %s is admitted for this revision; the people who run the server decide about it", rev.Tools[i].Name)
		}
	}
	return doc
}

// withLongNames has names and messages that can't be compressed.
func withLongNames(tools int) *registry.Document {
	doc := document(tools, "r1")
	random := rand.NewChaCha8([32]byte{})
	noise := func() string {
		data := make([]byte, 96)
		_, _ = random.Read(data) // it never fails
		return base64.StdEncoding.EncodeToString(data)
	}
	for i := range tools {
		doc.Revisions["r1"].Tools[i].Name, doc.Revisions["r1"].Tools[i].Message = noise(), noise()+noise()
	}
	return doc
}

// withSets has RuleSets of 40 KiB each, with texts that compress as prose does: to about a half.
func withSets(n int) *registry.Document {
	doc := document(10, "r1")
	for i := range n {
		s := set(fmt.Sprintf("set-%03d", i), "args.path")
		for r := range 40 {
			s.Rules = append(s.Rules, rules.Rule{Name: fmt.Sprint("rule-", r), Action: rules.Reject, When: "false", Message: prose(fmt.Sprint(i, r))})
		}
		doc.RuleSets = append(doc.RuleSets, s)
	}
	return doc
}

func prose(seed string) string {
	var b strings.Builder
	for i := range 14 {
		fmt.Fprintf(&b, "%x and so on, ", sha256.Sum256([]byte(seed+fmt.Sprint(i))))
	}
	return b.String()
}

func shuffled(doc *registry.Document) *registry.Document {
	out := *doc
	out.Sequence = 9
	out.RuleSets = slices.Clone(doc.RuleSets)
	rand.Shuffle(len(out.RuleSets), func(i, j int) { out.RuleSets[i], out.RuleSets[j] = out.RuleSets[j], out.RuleSets[i] })
	out.Revisions = map[string]registry.Revision{}
	for name, rev := range doc.Revisions {
		tools := slices.Clone(rev.Tools)
		rand.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		out.Revisions[name] = registry.Revision{Tools: tools}
	}
	return &out
}

// TestOneChangeRewritesTwoObjectsAtMost holds for whatever may become of one tool or of one RuleSet of a document in shards.
func TestOneChangeRewritesTwoObjectsAtMost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	changes := map[string]func(*registry.Document, int){
		"another definition": func(d *registry.Document, i int) { d.Revisions["r1"].Tools[i].Digest = digest("other") },
		"in both revisions": func(d *registry.Document, i int) {
			d.Revisions["r1"].Tools[i].Digest, d.Revisions["r2"].Tools[i].Digest = digest("other"), digest("other")
		},
		"withheld": func(d *registry.Document, i int) { d.Revisions["r1"].Tools[i].Withheld = "Disabled" },
		"gone": func(d *registry.Document, i int) {
			d.Revisions["r1"] = registry.Revision{Tools: slices.Delete(d.Revisions["r1"].Tools, i, i+1)}
		},
		"new": func(d *registry.Document, i int) {
			d.Revisions["r1"] = registry.Revision{Tools: append(d.Revisions["r1"].Tools, registry.Tool{Name: fmt.Sprint("new-", i), Digest: digest("new")})}
		},
		"another rule": func(d *registry.Document, i int) {
			d.RuleSets[i%2].Rules = []rules.Rule{{Name: "r", Action: rules.Reject, When: "true"}}
		},
		"a new set": func(d *registry.Document, i int) {
			d.RuleSets = append(d.RuleSets, set(fmt.Sprint("set-", i), "args.x"))
		},
		"another timeout": func(d *registry.Document, i int) { d.Policy.TimeoutSeconds = 100 + i },
	}
	before := files(t, plan(t, document(1500, "r1", "r2")), 3, shard.Form{})
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				doc := document(1500, "r1", "r2")
				change(doc, random.IntN(1500))
				after := files(t, plan(t, doc), 4, shard.Form{Split: true})
				objects := map[string]bool{}
				for _, file := range append(names(before), names(after)...) {
					if bytes.Equal(before[file], after[file]) {
						continue
					}
					if !strings.HasSuffix(file, ".gz") {
						file = "the root's object"
					}
					objects[file] = true
				}
				if len(objects) == 0 || len(objects) > 2 {
					t.Errorf("%d objects are rewritten: %v", len(objects), objects)
				}
			}
		})
	}
}

func TestForms(t *testing.T) {
	all := append([]string{registry.FileName, shard.RootFile}, shard.Names()...)
	slices.Sort(all)
	two := []string{registry.FileName, shard.RootFile, shard.File(0), shard.File(6)}
	for name, tc := range map[string]struct {
		tools     int
		form      shard.Form
		wantFiles []string
		// wantWhole says that the document of one piece holds all tools; where not, it denies everything.
		wantWhole bool
	}{
		"a small one is one piece":                                   {tools: 5, wantFiles: []string{registry.FileName}, wantWhole: true},
		"a small one that was cut becomes one again":                 {tools: 5, form: shard.Form{Split: true}, wantFiles: []string{registry.FileName}, wantWhole: true},
		"one of a middling size stays as it was: one":                {tools: 1500, wantFiles: []string{registry.FileName}, wantWhole: true},
		"one of a middling size stays as it was: cut":                {tools: 1500, form: shard.Form{Split: true}, wantFiles: all},
		"a large one is cut, and closed to who can't read that":      {tools: 2000, wantFiles: all},
		"a large one beside one piece for who reads no other":        {tools: 2000, form: shard.Form{WholeReaders: true}, wantFiles: all, wantWhole: true},
		"one too large for that is closed to them":                   {tools: 10000, form: shard.Form{WholeReaders: true}, wantFiles: all},
		"a small one is also cut for who reads nothing of one piece": {tools: 0, form: shard.Form{ShardReaders: true}, wantFiles: two, wantWhole: true},
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(tc.tools, "r1")
			f := files(t, plan(t, doc), 7, tc.form)
			if diff := cmp.Diff(tc.wantFiles, names(f)); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
			if got := decode(t, f); len(got.Revisions["r1"].Tools) != tc.tools || got.Sequence != 7 {
				t.Errorf("%d tools under sequence %d", len(got.Revisions["r1"].Tools), got.Sequence)
			}
			whole, err := registry.Decode(f[registry.FileName])
			if err != nil {
				t.Fatal(err)
			}
			if len(whole.Revisions["r1"].Tools) == tc.tools != tc.wantWhole && tc.tools > 0 {
				t.Errorf("in one piece: %d tools", len(whole.Revisions["r1"].Tools))
			}
			if !tc.wantWhole {
				checkClosed(t, whole)
			}
			if largest, _ := objectSizes(t, f); largest > room {
				t.Errorf("an object has %d bytes", largest)
			}
		})
	}
}

// checkClosed says whether nothing passes: no tool is known, and no other part of MCP is there.
func checkClosed(t *testing.T, d *registry.Document) {
	t.Helper()
	want := registry.Policy{TimeoutSeconds: 30}
	if diff := cmp.Diff(want, d.Policy, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("its policy lets something through (-want +got)\n%s", diff)
	}
	if len(d.Revisions) == 0 {
		t.Error("it names no revision, so that no pod would become ready")
	}
	for name, rev := range d.Revisions {
		if len(rev.Tools) > 0 {
			t.Errorf("revision %s has %d tools", name, len(rev.Tools))
		}
	}
}

func TestWhatDoesNotFitIsClosedAndSaysSo(t *testing.T) {
	huge := set("huge", "args.path")
	for i := range 900 {
		huge.Rules = append(huge.Rules, rules.Rule{Name: fmt.Sprint("rule-", i), Action: rules.Reject, When: "false", Message: prose(fmt.Sprint(i))})
	}
	tooMany := document(1, "r1")
	for i := range 4000 {
		tooMany.Policy.Passthrough = append(tooMany.Policy.Passthrough, fmt.Sprintf("a/rather/long/method/of/someone/%d", i))
	}
	tooMany.RuleSets = withSets(6).RuleSets
	for name, tc := range map[string]struct {
		doc  *registry.Document
		want string
	}{
		"a set that no shard holds": {func() *registry.Document {
			d := document(10, "r1")
			d.RuleSets = append(d.RuleSets, huge)
			return d
		}(), "(tools in all revisions: 10, RuleSets: 3) does not fit into its ConfigMaps: shard "},
		"more tools than shards hold": {withLongNames(12000), "(tools in all revisions: 12000, RuleSets: 2)"},
		"more of the rest":            {tooMany, "what is neither tool nor RuleSet has"},
	} {
		t.Run(name, func(t *testing.T) {
			p := plan(t, tc.doc)
			if p.TooLarge() == nil || !strings.Contains(p.TooLarge().Error(), tc.want) || !strings.Contains(p.TooLarge().Error(), "every call is refused") {
				t.Fatalf("it says %v", p.TooLarge())
			}
			for _, form := range []shard.Form{{}, {Split: true}, {WholeReaders: true}, {ShardReaders: true}} {
				f := files(t, p, 7, form)
				checkClosed(t, decode(t, f))
				if largest, _ := objectSizes(t, f); largest > 16<<10 {
					t.Errorf("what denies everything has %d bytes", largest)
				}
			}
		})
	}
}

// TestNoMixOfTwoGenerationsIsEverRead writes a second generation over a first, file by file in many orders, and reads after each.
func TestNoMixOfTwoGenerationsIsEverRead(t *testing.T) {
	old := document(2000, "r1")
	changed := document(2000, "r1", "r2")
	changed.RuleSets[0] = set("paths", "args.other")
	for i := range 2000 {
		changed.Revisions["r1"].Tools[i].Digest = digest(fmt.Sprint("other", i))
	}
	before, after := files(t, plan(t, old), 3, shard.Form{}), files(t, plan(t, changed), 4, shard.Form{})
	random := rand.New(rand.NewPCG(3, 4))
	torn := 0
	for range 4 {
		live := maps.Clone(before)
		order := names(after)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, file := range order {
			live[file] = after[file]
			first, err := shard.Root(live.Load)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := shard.Decode(first, live.Load)
			var incomplete *shard.IncompleteError
			switch {
			case errors.As(err, &incomplete):
				torn++
			case err != nil:
				t.Fatal(err)
			case doc.Sequence == 3:
				checkSame(t, old, doc)
			default:
				checkSame(t, changedTo(changed, 4), doc)
			}
		}
		if got := decode(t, live); got.Sequence != 4 {
			t.Errorf("at the end sequence %d is read", got.Sequence)
		}
	}
	if torn == 0 {
		t.Error("no directory was ever half updated")
	}
}

func changedTo(doc *registry.Document, sequence int64) *registry.Document {
	out := *doc
	out.Sequence = sequence
	return &out
}

func TestDecodeRefuses(t *testing.T) {
	good := files(t, plan(t, document(2000, "r1")), 3, shard.Form{})
	// reshard puts another text into a shard and its digest into the root.
	reshard := func(f shard.Files, old, new string) {
		text, err := shard.Expand(f[shard.File(0)], 4<<20)
		if err != nil {
			t.Fatal(err)
		}
		other := bytes.Replace(text, []byte(old), []byte(new), 1)
		if bytes.Equal(other, text) {
			t.Fatalf("%q is not in the shard", old)
		}
		f[shard.RootFile] = bytes.Replace(f[shard.RootFile], []byte(registry.Digest(text)), []byte(registry.Digest(other)), 1)
		if f[shard.File(0)], err = shard.Compress(other); err != nil {
			t.Fatal(err)
		}
	}
	inRoot := func(old, new string) func(shard.Files) {
		return func(f shard.Files) {
			other := bytes.Replace(f[shard.RootFile], []byte(old), []byte(new), 1)
			if bytes.Equal(other, f[shard.RootFile]) {
				t.Fatalf("%q is not in the root", old)
			}
			f[shard.RootFile] = other
		}
	}
	for name, tc := range map[string]struct {
		change     func(shard.Files)
		want       string
		incomplete bool
	}{
		"a shard that is not there":        {func(f shard.Files) { delete(f, shard.File(3)) }, "shard-3.json.gz is not there yet", true},
		"a shard of another generation":    {func(f shard.Files) { f[shard.File(3)] = f[shard.File(4)] }, "the root names sha256:", true},
		"a shard that breaks off":          {func(f shard.Files) { f[shard.File(3)] = f[shard.File(3)][:100] }, "cannot be read: not gzip", true},
		"a shard with something after it":  {func(f shard.Files) { f[shard.File(3)] = append(bytes.Clone(f[shard.File(3)]), 'x') }, "1 bytes after the end", true},
		"a shard that expands without end": {func(f shard.Files) { f[shard.File(3)] = bomb(t) }, "more than 4194304 bytes when expanded", true},
		"a shard with an unknown member":   {func(f shard.Files) { reshard(f, `"tools":[`, `"audience":1,"tools":[`) }, "shard-0.json.gz: member /audience is unknown", false},
		"a shard of another version":       {func(f shard.Files) { reshard(f, `"version":2`, `"version":3`) }, "version 3 is not that of its root", false},
		"a tool of an unknown revision":    {func(f shard.Files) { reshard(f, `["r1"]`, `["r9"]`) }, `is of revision "r9", which the root does not name`, false},
		"a tool of no revision":            {func(f shard.Files) { reshard(f, `["r1"]`, `[]`) }, "is of no revision", false},
		"a tool twice in a revision":       {func(f shard.Files) { reshard(f, `["r1"]`, `["r1","r1"]`) }, "twice", false},
		"an unknown member of a tool":      {func(f shard.Files) { reshard(f, `"digest"`, `"Digest"`) }, `did you mean "digest"?`, false},
		"an unknown member of the root":    {inRoot(`"shards"`, `"audience":1,"shards"`), "member /audience is unknown", false},
		"null for the shards":              {inRoot(`"shards":[`, `"shards":null,"x":[`), "member /shards is null", false},
		"a root that names no shards":      {inRoot(`,"shards":`, `,"sards":`), "member /sards is unknown", false},
		"a file outside of the directory":  {inRoot(`"shard-0.json.gz"`, `"../shard-0.json.gz"`), "is not one of shard-0.json.gz", false},
		"a shard twice":                    {inRoot(`"shard-1.json.gz"`, `"shard-0.json.gz"`), "twice or out of order", false},
		"a revision twice":                 {inRoot(`"revisions":["r1"]`, `"revisions":["r1","r1"]`), `"r1" is there twice`, false},
		"a version that is none":           {inRoot(`"version":2`, `"version":4`), "version 4 is not one that this release reads: [1 2]", false},
		"a policy that can't be enforced":  {inRoot(`"timeoutSeconds":30`, `"timeoutSeconds":-1`), "is negative", false},
		"a root that breaks off":           {inRoot("}\n", ""), "not JSON", false},
		"nothing at all where the root is": {func(f shard.Files) { f[shard.RootFile] = nil }, "not JSON", false},
		"a digest that is empty": {func(f shard.Files) {
			f[shard.RootFile] = bytes.Replace(f[shard.RootFile], []byte(`"digest":"sha256:`), []byte(`"digest":"","x":"`), 1)
		}, "member /shards/0/x is unknown", false},
		"a root without a member for shards": {func(f shard.Files) {
			i := bytes.Index(f[shard.RootFile], []byte(`,"shards":`))
			f[shard.RootFile] = append(bytes.Clone(f[shard.RootFile][:i]), '}')
		}, "member /shards is missing", false},
		"a root larger than what is ever read": {func(f shard.Files) {
			f[shard.RootFile] = append(bytes.Clone(f[shard.RootFile]), bytes.Repeat([]byte(" "), registry.MaxBytes)...)
		}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := maps.Clone(good)
			tc.change(f)
			first, err := shard.Root(f.Load)
			if err != nil {
				t.Fatal(err)
			}
			_, err = shard.Decode(first, f.Load)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want one with %q", err, tc.want)
			}
			var incomplete *shard.IncompleteError
			if errors.As(err, &incomplete) != tc.incomplete {
				t.Errorf("%v: is it a matter of time? want %v", err, tc.incomplete)
			}
		})
	}
}

func bomb(t *testing.T) []byte {
	t.Helper()
	data, err := shard.Compress(make([]byte, 64<<20))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheSequenceIsKnownByTheFirstFile(t *testing.T) {
	small, large := files(t, plan(t, document(1, "r1")), 5, shard.Form{}), files(t, plan(t, document(2000, "r1")), 6, shard.Form{})
	for name, tc := range map[string]struct {
		first []byte
		want  int64
	}{
		"of one piece":     {small[registry.FileName], 5},
		"of a root":        {large[shard.RootFile], 6},
		"of nothing":       {nil, 0},
		"of what is none":  {[]byte("x"), 0},
		"of a broken root": {[]byte(`{"version":2}`), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shard.Sequence(tc.first); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestOneTextIsOneWhateverCompressedIt(t *testing.T) {
	one, err := shard.Compress([]byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	// The same text as another compressor would write it: stored.
	stored := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1, 4, 0, 0xfb, 0xff, 't', 'e', 'x', 't', 0x27, 0x53, 0x8e, 0xc7, 4, 0, 0, 0}
	if !strings.Contains(string(stored), "text") {
		t.Fatal("not stored")
	}
	crc := stored[len(stored)-8:]
	copy(crc, one[len(one)-8:])
	if bytes.Equal(one, stored) || !shard.Same(one, stored) {
		t.Error("the texts are not told to be one")
	}
	other, err := shard.Compress([]byte("other"))
	if err != nil || shard.Same(one, other) || shard.Same(one, []byte("text")) || shard.Same([]byte("text"), one) {
		t.Errorf("another text is told to be the same (%v)", err)
	}
}
