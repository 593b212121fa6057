// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"toolgate.dev/toolgate/internal/registry"
)

func TestAbsentNumbersAreTheUsualOnes(t *testing.T) {
	s, err := registry.Compile(&registry.Document{Version: registry.Version, Server: registry.Server{Name: "files"}, Upstream: registry.Upstream{Transport: registry.TransportStdio},
		Policy: registry.Policy{TimeoutSeconds: 7, Limits: registry.Limits{MaxSessions: 3}}}, "", "r1")
	if err != nil {
		t.Fatal(err)
	}
	want := registry.Usual()
	want.TimeoutSeconds, want.Limits.MaxSessions = 7, 3
	if diff := cmp.Diff(want, s.Document().Policy); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	lifts := map[string]bool{"RequestsPerMinute": true, "MaxStalenessSeconds": true}
	eachNumber(reflect.ValueOf(s.Document().Policy), func(name string, n int64) {
		if (n == 0) != lifts[name] {
			t.Errorf("%s is %d where nothing is said", name, n)
		}
	})
}

// eachNumber goes through the numbers of a struct. When trust ends is a time.
func eachNumber(v reflect.Value, see func(name string, n int64)) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Struct:
			eachNumber(f, see)
		case reflect.Int, reflect.Int64:
			if name := v.Type().Field(i).Name; name != "ExpiresAt" {
				see(name, f.Int())
			}
		default:
		}
	}
}
