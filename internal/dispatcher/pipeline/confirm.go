// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "toolgate.dev/toolgate/internal/dispatcher/policy"

func (x *exchange) resumeConfirmation() *policy.Refusal { return nil }
