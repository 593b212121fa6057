// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

// Users of the two sides of a pod. They differ so that the server can't touch the dispatcher's files or processes.
const (
	userServer     = 10001
	userDispatcher = 65532
)

// Paths in the pod.
const (
	dispatcherBinary = "/dispatcher"
	binDir           = "/toolgate/bin"
	launcherBinary   = binDir + "/dispatcher"
	runDir           = "/run/toolgate"
	launchSocket     = runDir + "/launch.sock"
	registryDir      = "/etc/toolgate/registry"
	referencesDir    = "/etc/toolgate/references"
	serverModelDir   = "/toolgate/domain-model"
	stateDir         = "/var/lib/toolgate"
	homeDir          = "/home/mcp"
	tmpDir           = "/tmp"
)

// Names of the pod's own volumes. The prefix keeps them apart from the user's, which admission holds to other names.
const (
	volumeBin      = "toolgate-bin"
	volumeRun      = "toolgate-run"
	volumeRegistry = "toolgate-registry"
	volumeHeaders  = "toolgate-headers"
	volumeCA       = "toolgate-ca"
	volumeModel    = "toolgate-domain-model"
	volumeState    = "toolgate-state"
	// volumeReference has a number after it.
	volumeReference = "toolgate-reference"
	volumeHome      = "toolgate-home"
	volumeTmp       = "toolgate-tmp"
)
