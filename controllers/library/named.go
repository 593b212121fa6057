// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"crypto/sha256"
	"encoding/json"

	"toolgate.dev/toolgate/internal/rules"
)

// Named is a set as one server has it, named by its content. The zero value is one that no document has.
type Named struct {
	name   string
	digest [sha256.Size]byte
}

// Namer names one RuleSet for a server after another. What it says is the same for all of them, and is encoded once; whom it reaches
// is each server's own. The zero value is ready; it is for one goroutine, and for no longer than the RuleSet stays as it is.
type Namer struct {
	encoded bool
	content [sha256.Size]byte
	failed  bool
}

// Name names the RuleSet as one server has it (document.SetFor).
func (n *Namer) Name(set rules.Set) Named {
	if !n.encoded {
		same := set
		same.Reach, same.ToolScoped = "", nil
		data, err := json.Marshal(same)
		n.encoded, n.content, n.failed = true, sha256.Sum256(data), err != nil
	}
	reach, err := json.Marshal(rules.Set{Reach: set.Reach, ToolScoped: set.ToolScoped})
	if err != nil || n.failed {
		return Named{} // what can't be encoded is in no document
	}
	return Named{name: set.Name, digest: sha256.Sum256(append(n.content[:], reach...))}
}

// Has says whether the document holds a set just as it is: its generation, its rules, and whom it reaches. The generation
// alone would not do: a RuleSet that was deleted and made again starts over at 1, and a server's labels and its tools' specs
// say whom a set reaches without giving it another.
func (h Held) Has(set Named) bool {
	held, ok := h.sets[set.name]
	return ok && set != (Named{}) && held == set
}
