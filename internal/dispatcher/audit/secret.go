// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Members whose names say that they hold a secret are left out wherever payloads are recorded at all, whatever else is asked
// for. In doubt they are left out: a record that lacks a harmless value can be lived with, one that tells a secret cannot.
// docs/audit.md repeats these lists.
var (
	// secretParts make a name a secret's wherever they stand in it, once all but letters and digits is taken out of it.
	secretParts = []string{
		"password", "passwd", "passphrase", "passcode", "secret", "token", "credential", "authorization", "bearer", "cookie",
		"apikey", "accesskey", "privatekey", "signingkey", "encryptionkey", "masterkey", "sharedkey", "accountkey", "sshkey",
		"sessionid", "sessionkey", "connectionstring",
	}
	// secretWords do so as a whole word alone: as a part they stand in too many others.
	secretWords = []string{"auth", "dsn", "jwt", "otp", "pass", "pwd"}
	// notSecret are words that hold one of secretParts by chance.
	notSecret = strings.NewReplacer("secretary", "", "secretaries", "", "secretariat", "")
	// counts are words by which a number beside the word token is one of tokens.
	counts = []string{"tokens", "count", "limit", "budget", "usage", "total", "max", "min"}
)

// secret says whether a member holds a secret by its name. A number under a name that counts tokens is none.
func secret(name string, value any) bool {
	words := wordsOf(name)
	folded := notSecret.Replace(strings.Join(words, ""))
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(secretWords, w) }) {
		return true
	}
	if _, isNumber := value.(json.Number); isNumber && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(counts, w) }) {
		folded = strings.Replace(folded, "token", "", 1)
	}
	return slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(folded, part) })
}

// wordsOf are the words of a name in lower case, however it is put together: dbPassword, DB_PASSWORD, db-password, APIKey.
func wordsOf(name string) []string {
	runes := []rune(name)
	var words []string
	word := make([]rune, 0, len(runes))
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case i == 0:
		case unicode.IsUpper(r) && !unicode.IsUpper(runes[i-1]), unicode.IsDigit(r) != unicode.IsDigit(runes[i-1]):
			end()
		case unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]): // the last of capitals begins the next word
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}
