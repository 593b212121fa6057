#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What the scripts share: messages, steps that show they are alive, locks.
# Everything goes to stderr: stdout is for results.

# A plain user's PATH may lack the folders of ip, nft and the like.
export PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s\n' "$*" >&2; }
fail() {
	say "error: $1"
	(($# == 1)) || printf '       %s\n' "${@:2}" >&2
	exit 1
}

# seconds_since MICROSECONDS prints the time since then, as 12.3.
now() { echo "${EPOCHREALTIME/[.,]/}"; }
seconds_since() {
	local us=$(($(now) - $1))
	printf '%d.%d' $((us / 1000000)) $((us % 1000000 / 100000))
}

# hold_lock FILE WHAT waits until no other process holds FILE, saying so.
# Descriptor 9 holds it for this process; long-lived children must close it.
hold_lock() {
	mkdir -p "$(dirname "$1")"
	exec 9>>"$1"
	flock -n 9 && return
	say "waiting: another process is $2 (lock $1)"
	flock 9
}

STEP_PID=
end_step() { [[ -z $STEP_PID ]] || kill "$STEP_PID" 2>/dev/null || true; }

# step TITLE LOG COMMAND... runs COMMAND with its output in LOG. A terminal sees
# the seconds run; elsewhere there is a line every 20 s. STEP_NOTE names a
# function that reads LOG and adds a word on how far it is.
step() {
	local title=$1 log=$2 start next=20 note rc=0
	shift 2
	start=$(now)
	"$@" >"$log" 2>&1 </dev/null 9>&- &
	STEP_PID=$!
	while kill -0 "$STEP_PID" 2>/dev/null; do
		sleep 0.1
		note="$(seconds_since "$start") s"
		[[ -z ${STEP_NOTE:-} ]] || note+=", $($STEP_NOTE "$log")"
		if [[ -t 2 ]]; then
			printf '\r\e[K%s ... %s' "$title" "$note" >&2
		elif ((${note%%.*} >= next)); then
			say "$title ... $note"
			next=$((next + 20))
		fi
	done
	wait "$STEP_PID" || rc=$?
	STEP_PID=
	[[ ! -t 2 ]] || printf '\r\e[K' >&2
	if ((rc)); then
		tail -n 20 "$log" >&2
		fail "$title failed after $(seconds_since "$start") s" "full log: $log"
	fi
	say "$title ... $(seconds_since "$start") s"
}
