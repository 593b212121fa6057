// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/test/faults/rig"
)

// verdict is what the manager says of a spec.
type verdict struct {
	reason, message string
}

// refuses says that the spec is not carried out. What other reasons speak of is missing beside the spec: that server runs.
func (v verdict) refuses() bool {
	return v.reason == mcpv1alpha1.ReasonApplyFailed || v.reason == mcpv1alpha1.ReasonInvalidSpec
}

// running is what serves, as far as it can be told by the Deployment.
type running struct {
	uid        types.UID
	generation int64
	ready      int32
}

// await asks again until it is true, or for as long as a state may take.
func await(ctx context.Context, what string, ask func() (bool, error)) error {
	return awaitFor(ctx, rig.Patience, what, ask)
}

// awaitFor asks again until it is true, for a limited time.
func awaitFor(ctx context.Context, patience time.Duration, what string, ask func() (bool, error)) error {
	limit := time.Now().Add(patience)
	for {
		met, err := ask()
		switch {
		case err != nil:
			return err
		case met:
			return nil
		case time.Now().After(limit):
			return fmt.Errorf("%s: not so after %v", what, patience)
		}
		if err := rig.Wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// watched reads one of the objects named files as watches tell of it; false where it is not there.
func (w *walkers) watched(ctx context.Context, namespace, kind string, into any) (bool, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(rig.Kind(kind))
	err := w.Seen(ctx, client.ObjectKey{Namespace: namespace, Name: names["MCPServer"]}, o)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)
	}
	if err != nil {
		return false, fmt.Errorf("reading the %s: %w", kind, err)
	}
	return true, nil
}

// judged is the verdict on the newest spec; false where there is none yet.
func (w *walkers) judged(ctx context.Context, namespace string) (verdict, bool, error) {
	var s mcpv1alpha1.MCPServer
	if there, err := w.watched(ctx, namespace, "MCPServer", &s); err != nil || !there {
		return verdict{}, false, err
	}
	c := meta.FindStatusCondition(s.Status.Conditions, mcpv1alpha1.ConditionAccepted)
	if c == nil || c.ObservedGeneration != s.Generation {
		return verdict{}, false, nil
	}
	return verdict{c.Reason, strings.ReplaceAll(c.Message, namespace, "NAMESPACE")}, true, nil
}

func (w *walkers) verdict(ctx context.Context, namespace string) (verdict, error) {
	var out verdict
	err := await(ctx, "a verdict on the spec", func() (bool, error) {
		var there bool
		var err error
		out, there, err = w.judged(ctx, namespace)
		return there, err
	})
	return out, err
}

// runs reads what serves; the zero value where nothing does.
func (w *walkers) runs(ctx context.Context, namespace string) (running, error) {
	var d appsv1.Deployment
	if there, err := w.watched(ctx, namespace, "Deployment", &d); err != nil || !there {
		return running{}, err
	}
	return running{d.UID, d.Generation, d.Status.ReadyReplicas}, nil
}

// serves waits until something does.
func (w *walkers) serves(ctx context.Context, namespace string) (running, error) {
	var out running
	err := await(ctx, "a server that serves", func() (bool, error) {
		var err error
		out, err = w.runs(ctx, namespace)
		return out.ready > 0, err
	})
	return out, err
}

// refusal wants the walked server to say of its specs what a fresh one says, and to go on with what it ran; and then to be
// healed by the next valid specs.
func (w *walk) refusal(ctx context.Context, said verdict) error {
	w.bad.Add(1)
	last := verdict{}
	err := await(ctx, "the words of a fresh server", func() (bool, error) {
		var err error
		last, _, err = w.judged(ctx, w.namespace)
		return last == said, err
	})
	if err != nil {
		return fmt.Errorf("the server says %q, a fresh one %q: %w", last, said, err)
	}
	if _, err := w.Rest(ctx, w.namespace, time.Second); err != nil {
		return err
	}
	now, err := w.runs(ctx, w.namespace)
	if err != nil {
		return fmt.Errorf("refused as %q: %w", said, err)
	}
	// Valid specs on the way here may have been rolled out, or not: what runs is known where there were none.
	if now.uid != w.running.uid || w.since == 1 && now != w.running {
		return fmt.Errorf("refused as %q, and %+v became %+v", said, w.running, now)
	}
	return w.heal(ctx)
}

// heal takes the specs of the last good state again.
func (w *walk) heal(ctx context.Context) error {
	for _, kind := range kindsInOrder {
		if fmt.Sprint(w.specs[kind]) == fmt.Sprint(w.good[kind]) {
			continue
		}
		if err := w.put(ctx, kind, w.good[kind]); err != nil {
			return fmt.Errorf("healing: %w", err)
		}
		w.transitions.Add(1)
	}
	w.specs = w.good.copy()
	w.path = append(w.path, "healed")
	fresh, err := w.begin(ctx, w.specs)
	if err != nil {
		return err
	}
	if err := w.agree(ctx, fresh); err != nil {
		return fmt.Errorf("not healed: %w", err)
	}
	w.healed.Add(1)
	return w.Clear(ctx, fresh)
}
