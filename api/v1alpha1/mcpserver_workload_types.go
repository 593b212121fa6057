// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ScalingMode says who sets the number of pods.
// +kubebuilder:validation:Enum=Internal;External
type ScalingMode string

// Who can set the number of pods.
const (
	// ScalingInternal is spec.replicas.
	ScalingInternal ScalingMode = "Internal"
	// ScalingExternal is an autoscaler of the Deployment.
	ScalingExternal ScalingMode = "External"
)

// Rollout says how pods are replaced by those of a new revision.
//
// +kubebuilder:validation:XValidation:rule="self.?type.orValue('RollingUpdate') != 'Recreate' || (!has(self.maxUnavailable) && !has(self.maxSurge))",message="maxUnavailable and maxSurge bound a RollingUpdate: with type Recreate leave them out"
// +kubebuilder:validation:XValidation:rule="!has(self.maxUnavailable) || !has(self.maxSurge) || !(string(self.maxUnavailable) in ['0', '0%'] && string(self.maxSurge) in ['0', '0%'])",message="maxUnavailable and maxSurge can't both be 0: no pod could ever be replaced"
type Rollout struct {
	// type RollingUpdate replaces pods a few at a time. Recreate stops all of them
	// first, for servers of which two must never run at a time. Default:
	// RollingUpdate.
	// +optional
	Type RolloutType `json:"type,omitempty"`
	// maxUnavailable is how many pods may be missing meanwhile, as a number or a
	// share of replicas (rounded down). Example: 1. Default: 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="a number of pods, or a share such as 25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// maxSurge is how many pods there may be above replicas meanwhile, as a number
	// or a share of replicas (rounded up). Example: 1. Default: 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="a number of pods, or a share such as 25%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// progressDeadlineSeconds is after how long without progress a rollout counts
	// as stuck (Available=False, ProgressDeadlineExceeded), in seconds. Pods of
	// the last revision go on serving. Default: 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
}

// RolloutType says how pods are replaced.
// +kubebuilder:validation:Enum=RollingUpdate;Recreate
type RolloutType string

// Ways to replace pods.
const (
	// RolloutRollingUpdate replaces a few at a time.
	RolloutRollingUpdate RolloutType = "RollingUpdate"
	// RolloutRecreate stops all of them first.
	RolloutRecreate RolloutType = "Recreate"
)

// ContainerSecurity says as whom the server runs. It always runs without
// capabilities and can't gain privileges.
type ContainerSecurity struct {
	// runAsUser is the user id of the server. 0 is root, which Pod Security
	// "restricted" refuses. Default: 10001.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +kubebuilder:validation:XValidation:rule="self != 65532",message="65532 is the dispatcher's user, whom the server must not be: choose another"
	RunAsUser *int64 `json:"runAsUser,omitempty"`
	// runAsGroup is its group id. Default: 10001.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +kubebuilder:validation:XValidation:rule="self != 65532",message="65532 is the dispatcher's group, to which the server must not belong: choose another"
	RunAsGroup *int64 `json:"runAsGroup,omitempty"`
	// rootFilesystem ReadOnly keeps the server from writing anywhere but to its
	// volumes, HOME and /tmp. Default: ReadWrite.
	// +optional
	RootFilesystem VolumeAccess `json:"rootFilesystem,omitempty"`
}

// PodSecurity says to which groups the pods belong and which system calls they
// may make.
type PodSecurity struct {
	// fsGroup is a group to which the pods belong and which owns their volumes,
	// where these know owners. Default: none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	FSGroup *int64 `json:"fsGroup,omitempty"`
	// fsGroupChangePolicy OnRootMismatch spares the walk through a large volume
	// when its root has the group already. Default: Always.
	// +optional
	// +kubebuilder:validation:Enum=Always;OnRootMismatch
	FSGroupChangePolicy corev1.PodFSGroupChangePolicy `json:"fsGroupChangePolicy,omitempty"`
	// supplementalGroups are further groups of the processes.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=2147483647
	SupplementalGroups []int64 `json:"supplementalGroups,omitempty"`
	// seccompProfile is the name of a file of system calls on the node, under the
	// kubelet's folder for them. Example: profiles/files.json. Default: the
	// profile of the container runtime (RuntimeDefault).
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)') && self.trim() != ''",message="a path under the kubelet's folder of profiles, without .. and without a / at its beginning"
	SeccompProfile string `json:"seccompProfile,omitempty"`
}

// Probe asks the server's container for a sign of life.
//
// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.httpGet), has(self.tcpPort)].filter(x, x).size() == 1",message="set exactly one of exec, httpGet and tcpPort"
type Probe struct {
	// exec runs a command in the container; exit code 0 is success. Example:
	// [cat, /tmp/healthy].
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	Exec []string `json:"exec,omitempty"`
	// httpGet asks by HTTP; a status from 200 to 399 is success. Example: {path:
	// /healthz, port: 8080}.
	// +optional
	HTTPGet *HTTPProbe `json:"httpGet,omitempty"`
	// tcpPort is a port to open a connection to. Example: 8080.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	TCPPort *int32 `json:"tcpPort,omitempty"`
	// initialDelaySeconds is how long after its start the first one comes, in
	// seconds. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`
	// periodSeconds is how often, in seconds. Default: 10.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`
	// timeoutSeconds is how long the answer may take, in seconds. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// failureThreshold is how many in a row must fail. Default: 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// HTTPProbe asks by HTTP.
type HTTPProbe struct {
	// path to ask for. Default: /.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="a path begins with /, as in /healthz"
	Path string `json:"path,omitempty"`
	// port of the server.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// scheme HTTPS asks over TLS, without looking at the certificate. Default:
	// HTTP.
	// +optional
	// +kubebuilder:validation:Enum=HTTP;HTTPS
	Scheme corev1.URIScheme `json:"scheme,omitempty"`
}

// RestartOn says when pods are replaced although the spec has not changed.
// +kubebuilder:validation:Enum=References;Never
type RestartOn string

// Occasions to replace pods.
const (
	// RestartOnReferences is a changed ConfigMap or Secret that the server names.
	RestartOnReferences RestartOn = "References"
	// RestartOnNever is none.
	RestartOnNever RestartOn = "Never"
)
