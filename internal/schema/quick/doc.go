// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quick says of an instance that it surely fits a schema, from its bytes alone and without taking memory, or that it
// does not know. Nearly every call is valid, and nearly every schema is made of few keywords, so that the validator proper
// (package schema) has to look only at what is left; it alone says what is wrong.
//
// A yes is never wrong: whatever is not understood whole, in the schema or in the instance, is not known. That is what the
// tests hold it to, on JSON Schema's official suite and on schemas and instances that are made up. It reads schemas as the
// library has compiled them, and imports nothing of this project.
package quick
