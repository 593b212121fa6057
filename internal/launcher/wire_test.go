// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bytes"
	"encoding/json"
	"testing"

	"toolgate.dev/toolgate/internal/launcher/stderr"
)

func TestAWholeTailFitsARecord(t *testing.T) {
	for name, text := range map[string]string{"quotes": `"`, "markup": "<", "no UTF-8": "\xff\""} {
		t.Run(name, func(t *testing.T) {
			line := stderr.Clean(bytes.Repeat([]byte(text), stderr.MaxLineBytes))
			r := record{Version: protocolVersion, Type: recordExited}
			for range stderr.MaxLines {
				r.Lines = append(r.Lines, line)
			}
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(r); err != nil || b.Len() > maxRecord {
				t.Errorf("%d bytes, %v", b.Len(), err)
			}
		})
	}
}
