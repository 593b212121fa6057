// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// own are the series that only Toolgate has.
func (m *Metrics) own() {
	m.decisions = m.counterVec("toolgate_policy_decisions_total", "Decisions on messages, by the stage and the rule that decided.",
		"stage", "rule", "action")
	m.violations = m.counterVec("toolgate_schema_violations_total", "Violations of schemas, by keyword.", "subject", "keyword")
	m.confirmations = m.counterVec("toolgate_confirmations_total", "Confirmations of calls by people, by what became of them.", "outcome")
	m.records = m.counterVec("toolgate_audit_records_total", "Audit records, by whether they could be written.", "result")
	m.reloads = m.counterVec("toolgate_registry_reloads_total", "Readings of the registry document that changed something.", "result")
	m.dropped = m.counterVec("toolgate_messages_dropped_total", "Messages of the server that had no owner or no room.", "reason")
	m.handovers = m.counterVec("toolgate_handovers_total", "Requests for a session that another replica holds.", "result")
	m.bytes = m.counterVec("toolgate_bytes_total", "Bytes of messages from and to clients.", "direction")
	m.sessions = m.gauge("toolgate_sessions", "Open sessions of clients.")
	m.inFlight = m.gauge("toolgate_calls_in_flight", "Requests of clients that have no answer yet.")
}

// Actions of decisions. Warn and Audit are rules' words on a message that another action is counted for.
const (
	Allow   = "allow"
	Refuse  = "refuse"
	Confirm = "confirm"
	Warn    = "warn"
	Audit   = "audit"
)

// Decided counts one decision; stage and rule are empty where none refused.
func (m *Metrics) Decided(stage, rule, action string) {
	m.decisions.WithLabelValues(stage, rule, action).Inc()
}

// Violated counts one violation of a schema; subject is arguments or result.
func (m *Metrics) Violated(subject, keyword string) {
	m.violations.WithLabelValues(subject, keyword).Inc()
}

// Confirmation counts what became of the confirmation of a call: Asked, Confirmed, or the reason of a refusal.
func (m *Metrics) Confirmation(outcome string) { m.confirmations.WithLabelValues(outcome).Inc() }

// Recorded counts one audit record that was written, or lost.
func (m *Metrics) Recorded(err error) {
	if err != nil {
		m.records.WithLabelValues("lost").Inc()
		return
	}
	m.records.WithLabelValues("written").Inc()
}

// Reloaded counts one reading of the registry document; result is applied or refused.
func (m *Metrics) Reloaded(result string) { m.reloads.WithLabelValues(result).Inc() }

// Dropped counts a message that reached nobody.
func (m *Metrics) Dropped(reason string) { m.dropped.WithLabelValues(reason).Inc() }

// Received counts bytes from clients, Sent bytes to them.
func (m *Metrics) Received(n int) { m.bytes.WithLabelValues("in").Add(float64(n)) }

// Sent counts bytes to clients.
func (m *Metrics) Sent(n int) { m.bytes.WithLabelValues("out").Add(float64(n)) }

// SessionOpened and SessionClosed move the gauge of sessions.
func (m *Metrics) SessionOpened() { m.sessions.Inc() }

// SessionClosed is the other half of SessionOpened.
func (m *Metrics) SessionClosed() { m.sessions.Dec() }

// CallStarted and CallEnded move the gauge of calls in flight.
func (m *Metrics) CallStarted() { m.inFlight.Inc() }

// CallEnded is the other half of CallStarted.
func (m *Metrics) CallEnded() { m.inFlight.Dec() }

// HandedOver counts a request that was for another replica: done, or gone where that replica is not there any more.
func (m *Metrics) HandedOver(ok bool) {
	result := "gone"
	if ok {
		result = "done"
	}
	m.handovers.WithLabelValues(result).Inc()
}
