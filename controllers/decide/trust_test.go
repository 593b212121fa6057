// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
)

func TestWhatTrustComesTo(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	for name, tc := range map[string]struct {
		trust mcpv1alpha1.Trust
		want  mcpv1alpha1.TrustStatus
		// next is when it changes by itself.
		next time.Time
	}{
		"nothing is said": {mcpv1alpha1.Trust{}, mcpv1alpha1.TrustStatus{State: "Untrusted"}, time.Time{}},
		"untrusted, until some day": {mcpv1alpha1.Trust{State: mcpv1alpha1.Untrusted, ExpiresAt: at(time.Hour)},
			mcpv1alpha1.TrustStatus{State: "Untrusted"}, time.Time{}},
		"trusted": {mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted},
			mcpv1alpha1.TrustStatus{State: "Trusted", Message: "trust has no end, and lapses in a pod that no manager has polled for 600 seconds"}, time.Time{}},
		"trusted for a while": {mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, ExpiresAt: at(time.Hour), MaxStalenessSeconds: new(int32(60))},
			mcpv1alpha1.TrustStatus{State: "Trusted", Message: "trust ends at 2026-01-02T04:04:05Z, and lapses in a pod that no manager has polled for 60 seconds"}, now.Add(time.Hour)},
		"trusted by pods that nobody polls": {mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, MaxStalenessSeconds: new(int32(0))},
			mcpv1alpha1.TrustStatus{State: "Trusted", Message: "trust has no end, and does not lapse in a pod that no manager polls, since spec.trust.maxStalenessSeconds is 0"}, time.Time{}},
		"trusted until now": {mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, ExpiresAt: at(0)},
			mcpv1alpha1.TrustStatus{State: "Expired", Message: "trust ended at 2026-01-02T03:04:05Z; to renew it, set spec.trust.expiresAt"}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			in := decide.ServerInput{Server: server(), Now: now, Revision: "r1", Deployment: &appsv1.Deployment{}, Pods: []decide.Pod{pod("a")}, Document: "d1", Tools: registered()}
			in.Server.Spec.Trust = tc.trust
			in.Server.Status = decide.Server(in)
			if diff := cmp.Diff(&tc.want, in.Server.Status.Trust); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if next := in.NextLook(in.Server.Status.Conditions); !next.Equal(tc.next) {
				t.Errorf("the next look is at %v, want %v", next, tc.next)
			}
		})
	}
}

// TestTrustLapses goes by the pods that serve: as long as one of them trusts, a call can pass.
func TestTrustLapses(t *testing.T) {
	failing := func(since time.Duration) func(*decide.Pod) {
		return func(p *decide.Pod) { p.Seen.Err, p.Seen.FailingSince = "no answer in time", now.Add(-since) }
	}
	trusted := mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted}
	for name, tc := range map[string]struct {
		trust mcpv1alpha1.Trust
		pods  []decide.Pod
		want  time.Time
	}{
		"a pod answers":             {trusted, []decide.Pod{pod("a"), pod("b", failing(time.Hour))}, time.Time{}},
		"nobody has asked yet":      {trusted, []decide.Pod{pod("a", silent)}, time.Time{}},
		"no pod serves":             {trusted, []decide.Pod{pod("a", notReady, failing(time.Hour))}, time.Time{}},
		"the last one to lapse":     {trusted, []decide.Pod{pod("a", failing(time.Minute)), pod("b", failing(time.Hour))}, now.Add(9 * time.Minute)},
		"one that does not serve":   {trusted, []decide.Pod{pod("a", notReady), pod("b", failing(time.Minute))}, now.Add(9 * time.Minute)},
		"trust that does not lapse": {mcpv1alpha1.Trust{State: mcpv1alpha1.Trusted, MaxStalenessSeconds: new(int32(0))}, []decide.Pod{pod("a", failing(time.Hour))}, time.Time{}},
		"no trust":                  {mcpv1alpha1.Trust{}, []decide.Pod{pod("a", failing(time.Hour))}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := server()
			s.Spec.Trust = tc.trust
			if got := decide.TrustLapses(s, tc.pods); !got.Equal(tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
