// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package recorder_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"toolgate.dev/toolgate/controllers/recorder"
)

// sink counts the events that are made and those that are counted up.
type sink struct {
	mu            sync.Mutex
	made, counted int
}

func (s *sink) Create(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made++
	return e, nil
}

func (s *sink) Update(_ context.Context, e *eventsv1.Event) (*eventsv1.Event, error) { return e, nil }

func (s *sink) Patch(_ context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counted++
	return e, nil
}

// TestRecorder tells one thing twice, then more than is remembered, and then the one thing again.
func TestRecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		r := recorder.New(s, clientgoscheme.Scheme, "toolgate")
		tell := func(name string) {
			r.Eventf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}, nil, corev1.EventTypeNormal, "Ready", "Ready", "%s is ready", name)
			synctest.Wait()
		}
		wants := func(when string, made, counted int) {
			t.Helper()
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.made != made || s.counted != counted {
				t.Errorf("%s: %d made and %d counted up, want %d and %d", when, s.made, s.counted, made, counted)
			}
		}
		tell("files")
		tell("files")
		wants("told twice", 1, 1)
		for i := range recorder.Most {
			tell(fmt.Sprint("other-", i))
		}
		wants("told much else", 1+recorder.Most, 1)
		tell("files")
		wants("told again long after", 2+recorder.Most, 1)
		r.Stop()
		synctest.Wait()
		tell("late")
		wants("told when all is over", 2+recorder.Most, 1)
	})
}
