#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Sourced by up.sh: makes the cluster's keys, certificates and kubeconfigs.
# They live as long as the cluster and are removed with it.

PKI=$STATE_DIR/etc/pki

# new_key NAME
new_key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key"; }

# authority NAME makes a certificate authority.
authority() {
	new_key "$1"
	openssl req -x509 -new -key "$1.key" -days 365 -subj "/CN=$1" -out "$1.crt"
}

# certificate NAME AUTHORITY SUBJECT EXTENSIONS
certificate() {
	new_key "$1"
	openssl req -new -key "$1.key" -subj "$3" -out "$1.csr"
	openssl x509 -req -in "$1.csr" -CA "$2.crt" -CAkey "$2.key" -days 365 -out "$1.crt" \
		-extfile <(printf 'keyUsage=digitalSignature\n%b' "$4") 2>/dev/null
	rm "$1.csr"
}

# kubeconfig NAME writes one that holds its keys, so that it can be copied.
kubeconfig() {
	cat >"../$1.kubeconfig" <<-Y
		apiVersion: v1
		kind: Config
		current-context: toolgate
		contexts: [{name: toolgate, context: {cluster: toolgate, user: $1}}]
		clusters: [{name: toolgate, cluster: {server: "https://$NODE_IP:6443", certificate-authority-data: $(base64 -w0 ca.crt)}}]
		users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$1.crt"), client-key-data: $(base64 -w0 "$1.key")}}]
	Y
}

make_pki() (
	local user client="extendedKeyUsage=clientAuth" server="extendedKeyUsage=serverAuth\nsubjectAltName"
	local service=kubernetes.default
	umask 077
	mkdir -p "$PKI"
	cd "$PKI" || exit
	authority ca
	authority front-proxy-ca
	certificate apiserver ca /CN=kube-apiserver \
		"$server=IP:127.0.0.1,IP:$NODE_IP,IP:$API_SERVICE_IP,DNS:localhost,DNS:kubernetes,DNS:$service,DNS:$service.svc,DNS:$service.svc.cluster.local"
	certificate kubelet-server ca "/CN=$NODE_NAME" "$server=IP:127.0.0.1,IP:$NODE_IP,DNS:$NODE_NAME"
	certificate kubelet-client ca /O=system:masters/CN=kube-apiserver-kubelet-client "$client"
	certificate front-proxy-client front-proxy-ca /CN=front-proxy-client "$client"
	certificate admin ca /O=system:masters/CN=admin "$client"
	certificate controller-manager ca /CN=system:kube-controller-manager "$client"
	certificate scheduler ca /CN=system:kube-scheduler "$client"
	certificate kubelet ca "/O=system:nodes/CN=system:node:$NODE_NAME" "$client"
	certificate proxy ca /CN=system:kube-proxy "$client"
	for user in admin controller-manager scheduler kubelet proxy; do kubeconfig "$user"; done
	new_key service-account
	openssl pkey -in service-account.key -pubout -out service-account.pub
)
