#!/usr/bin/env bash
# Copyright 2026 The Toolgate Authors.
# SPDX-License-Identifier: Apache-2.0
#
# kubelet.sh COMMAND...: runs the kubelet in a mount namespace of its own, in
# which the kernel settings it insists on already read as it wants them. So it
# writes none of them and the machine keeps its own. Making /proc read-only
# would end the kubelet; masking it for containers too would break pods with
# user namespaces, which must mount a /proc of their own.
set -euo pipefail
mount --make-rprivate /proc

# mask SETTING VALUE
mask() {
	local file=/run/sysctl/${1//\//.}
	mkdir -p /run/sysctl
	echo "$2" >"$file"
	mount --bind "$file" "/proc/sys/$1"
}
mask vm/overcommit_memory 1
mask vm/panic_on_oom 0
mask kernel/panic 10
mask kernel/panic_on_oops 1
mask kernel/keys/root_maxkeys 1000000
mask kernel/keys/root_maxbytes 25000000
exec "$@"
