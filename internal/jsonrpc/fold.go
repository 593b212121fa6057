// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package jsonrpc

import (
	"unicode"
	"unicode/utf8"
)

// Fold returns s with every letter replaced by one representative of all that differ from it by case alone, under simple
// case folding as Unicode defines it (CaseFolding.txt, status C and S): U+017F becomes s and U+212A becomes k. U+0130 and
// U+0131 become i, because upper-casing and lower-casing in common languages take them there. Two strings are confusable
// for a reader that ignores case if their folds are equal.
func Fold(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return string(appendFold(make([]byte, 0, len(s)), s))
		}
	}
	return s
}

func appendFold[T string | []byte](dst []byte, s T) []byte {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		dst = utf8.AppendRune(dst, foldRune(r))
		i += n
	}
	return dst
}

// foldRune returns the representative of r: the least rune of its folding orbit, in lower case if that is an ASCII letter.
func foldRune(r rune) rune {
	const (
		capitalDotted = '\u0130'
		smallDotless  = '\u0131'
	)
	if r == capitalDotted || r == smallDotless {
		return 'i'
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// Declared is the set of property names that a tool declares for its arguments, prepared once per definition and safe for
// concurrent use.
type Declared struct {
	exact  map[string]struct{}
	folded map[string]string // fold -> a declared name
}

// NewDeclared prepares the names of the declared properties.
func NewDeclared(names []string) *Declared {
	d := &Declared{exact: make(map[string]struct{}, len(names)), folded: make(map[string]string, len(names))}
	for _, name := range names {
		d.exact[name] = struct{}{}
		d.folded[Fold(name)] = name
	}
	return d
}

// Check refuses arguments in which a reader that ignores case could take one key for another, with a *CollisionError: at
// the top level an undeclared key that folds to a declared property or to another undeclared key, and below it two keys of
// one object that fold to each other. Keys that are all declared never collide: a tool may declare both -c and -C. The
// value args must be part of a checked value; anything but an object or an array passes.
func (d *Declared) Check(args []byte) error {
	c := foldChecks.Get().(*foldCheck)
	c.data = args
	c.keys.reset(args)
	_, err := c.value(skipSpace(args, 0), d)
	c.data = nil
	c.keys.reset(nil)
	foldChecks.Put(c)
	if err != nil {
		return err.finish()
	}
	return nil
}
