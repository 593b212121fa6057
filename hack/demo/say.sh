#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# How the demo talks: titles, commands that are shown before they run, and calls of tools. Sourced by demo.sh.
set -euo pipefail

forwards=()
end_forwards() {
  local pid
  for pid in "${forwards[@]}"; do kill "$pid" 2>/dev/null || true; done
}
trap end_forwards EXIT

title() { printf '\n\033[1m## %s\033[0m\n' "$1"; }

run() {
  printf '$ %s\n' "$*"
  "$@"
}

# port_forward NAMESPACE SERVER forwards a free port to the server's Service and sets url.
port_forward() {
  local log
  log=$(mktemp)
  kubectl -n "$1" port-forward "service/$2" :80 >"$log" 2>&1 &
  forwards+=($!)
  for _ in $(seq 100); do
    url=$(sed -nE 's#^Forwarding from (127\.0\.0\.1:[0-9]+).*#http://\1/mcp#p' "$log" | head -n 1)
    [[ -n $url ]] && break
    sleep 0.1
  done
  [[ -n $url ]] || { echo "port-forward to $2 did not start:" >&2; cat "$log" >&2; return 1; }
  rm -f "$log"
}

# call URL TOOL ARGUMENTS sends one tools/call and prints what came back.
call() {
  local body
  body=$(printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}' "$2" "$3")
  printf -- '-> tools/call %s %s\n<- ' "$2" "$3"
  curl -sS --max-time 40 "$1" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -H 'MCP-Protocol-Version: 2025-11-25' -d "$body" | sed -E 's/^(event|id):.*$//; s/^data: //' | grep -v '^$'
}

# setup_hint is what a reader must type first to reach the cluster.
setup_hint() {
  # The reader's shell is to expand $PATH, not this one.
  # shellcheck disable=SC2016
  [[ $CLUSTER == current ]] || printf 'export KUBECONFIG=%s PATH=%s:$PATH\n  ' "$KUBECONFIG" "$(dirname "$(command -v kubectl)")"
}
