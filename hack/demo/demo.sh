#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# From nothing to a running cluster with real MCP servers behind Toolgate: a call allowed, a call refused for its arguments,
# a destructive call refused, the trust that lets it through, and a rule that stops it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=hack/demo/cluster.sh
source hack/demo/cluster.sh
# shellcheck source=hack/demo/say.sh
source hack/demo/say.sh
begin=$SECONDS
ns=toolgate-demo

title "A cluster with Toolgate"
cluster_up
install_toolgate

title "Two MCP servers from npm, one of them over stdio and over HTTP: one file each"
kubectl create namespace $ns --dry-run=client -o yaml | kubectl apply -f - >/dev/null
kubectl -n $ns delete ruleset files-stay-in-reports --ignore-not-found >/dev/null
run kubectl -n $ns apply -f config/samples/everything.yaml -f config/samples/everything-http.yaml -f config/samples/filesystem.yaml
kubectl -n $ns wait mcpserver --all --for=condition=Ready --timeout=90s >/dev/null
kubectl -n $ns wait mcpserver --all --for=condition=Enforced --timeout=30s >/dev/null
run kubectl -n $ns get mcpservers,mcptools

port_forward $ns everything; everything=$url
port_forward $ns filesystem; filesystem=$url

title "A call that fits"
call "$everything" get-sum '{"a":2,"b":40}'

title "A call whose arguments do not fit: the answer says where, and what would be right"
call "$everything" get-sum '{"a":"two","b":40}'

title "A destructive call: blocked, because nobody has said that this server is trusted"
call "$filesystem" write_file '{"path":"/data/note.txt","content":"hello"}'

title "A person trusts the server"
run kubectl -n $ns patch mcpserver filesystem --type merge -p '{"spec":{"trust":{"state":"Trusted","reason":"demo"}}}'
kubectl -n $ns wait mcpserver filesystem --for=jsonpath='{.status.conditions[?(@.type=="Enforced")].observedGeneration}'="$(kubectl -n $ns get mcpserver filesystem -o jsonpath='{.metadata.generation}')" --timeout=30s >/dev/null
kubectl -n $ns wait mcpserver filesystem --for=condition=Enforced --timeout=30s >/dev/null
call "$filesystem" write_file '{"path":"/data/note.txt","content":"hello"}'

title "A RuleSet stops it again: trust lifts the gate, never a rule"
run kubectl -n $ns apply -f config/samples/ruleset-cel.yaml
kubectl -n $ns wait ruleset files-stay-in-reports --for=condition=Enforced --timeout=30s >/dev/null
call "$filesystem" write_file '{"path":"/data/note.txt","content":"hello"}'
run kubectl -n $ns get rulesets

title "Now yours"
cat <<EOT
Connect a client of your own:
  $(setup_hint)kubectl -n $ns port-forward service/everything 8080:80
  then point it at http://127.0.0.1:8080/mcp (streamable HTTP), for example:
  npx @modelcontextprotocol/inspector --cli http://127.0.0.1:8080/mcp --transport http --method tools/list
Look round:
  kubectl -n $ns describe mcpserver everything      kubectl explain mcpserver.spec.trust
Take it all down:
  make demo-down$([[ $CLUSTER == current ]] && echo " CLUSTER=current")
The demo took $((SECONDS - begin)) s.
EOT
