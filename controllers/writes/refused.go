// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
	"toolgate.dev/toolgate/controllers/decide"
	"toolgate.dev/toolgate/controllers/library"
)

// ForeignError says that a name is taken by an object that is not ours.
type ForeignError struct {
	Kind, Name string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s %s exists and does not belong to this object; delete or rename it, or choose another name", e.Kind, e.Name)
}

// Classify sorts the errors of writing a child, here and nowhere else: what the user must act upon becomes a Refusal for a
// condition and is not retried as an error; the rest is transient and is returned.
func Classify(err error) (decide.Refusal, error) {
	var foreign *ForeignError
	var unwritable *library.UnwritableError
	switch {
	case err == nil:
		return decide.Refusal{}, nil
	case errors.As(err, &foreign):
		return decide.Refusal{Reason: mcpv1alpha1.ReasonNameConflict, Message: foreign.Error()}, nil
	case errors.As(err, &unwritable):
		return decide.Refusal{Reason: mcpv1alpha1.ReasonInvalidSpec, Message: unwritable.Error()}, nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		return decide.Refusal{Reason: mcpv1alpha1.ReasonApplyFailed, Message: err.Error()}, nil
	default:
		return decide.Refusal{}, err
	}
}
