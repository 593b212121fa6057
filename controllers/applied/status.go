// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toolgate.dev/toolgate/internal/render"
)

// subresourceStatus is how managed fields name a status.
const subresourceStatus = "status"

// StatusMarks are what is kept of the managed fields of a status, for Meddled: who has written it, when, and a digest of which
// fields. They are no managed fields any more, and must not be sent.
func StatusMarks(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	for _, e := range fields {
		if e.Subresource != subresourceStatus {
			continue
		}
		if e.Operation != digested && e.FieldsV1 != nil {
			sum := sha256.Sum256(e.FieldsV1.GetRawBytes())
			e.FieldsV1 = metav1.NewFieldsV1(strconv.Quote(hex.EncodeToString(sum[:8])))
		}
		out = append(out, metav1.ManagedFieldsEntry{
			Manager: e.Manager, Operation: digested, Subresource: e.Subresource, Time: e.Time, FieldsV1: e.FieldsV1,
		})
	}
	return out
}

// Meddled says whether somebody else has written an object's status between two looks at it. Whoever sets a field is on record;
// whoever takes one of ours away is not, but our part is less then, although we wrote at no later time. A write of ours that only
// takes fields away looks the same: that costs a look in vain.
func Meddled(before, after metav1.Object) bool {
	was, is := StatusMarks(before.GetManagedFields()), StatusMarks(after.GetManagedFields())
	ourLast, ours := takeOurs(&was), takeOurs(&is)
	switch {
	case ours == nil:
		return ourLast != nil || !equality.Semantic.DeepEqual(was, is)
	case ourLast == nil || !ourLast.Time.Equal(ours.Time):
		// What we write we take from others: they have less then, but have not written.
		return slices.ContainsFunc(is, func(e metav1.ManagedFieldsEntry) bool { return !wroteBefore(was, e) })
	default:
		return !equality.Semantic.DeepEqual(was, is) || !equality.Semantic.DeepEqual(ourLast.FieldsV1, ours.FieldsV1)
	}
}

// wroteBefore says whether a mark of others was there before, with whatever fields.
func wroteBefore(was []metav1.ManagedFieldsEntry, is metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(was, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == is.Manager && e.Time.Equal(is.Time) })
}

// takeOurs takes our own mark out of a list; nil where there is none.
func takeOurs(marks *[]metav1.ManagedFieldsEntry) *metav1.ManagedFieldsEntry {
	var ours *metav1.ManagedFieldsEntry
	var others []metav1.ManagedFieldsEntry
	for i, m := range *marks {
		if m.Manager == render.FieldOwner {
			ours = &(*marks)[i]
		} else {
			others = append(others, m)
		}
	}
	*marks = others
	return ours
}
