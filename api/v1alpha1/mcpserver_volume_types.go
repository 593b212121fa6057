// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Volume is a volume of the server's pods.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.persistentVolumeClaim), has(self.projected), has(self.csi), has(self.ephemeral)].filter(x, x).size() == 1",message="set exactly one of configMap, secret, emptyDir, persistentVolumeClaim, projected, csi and ephemeral"
type Volume struct {
	// name that volumeMounts refer to. Names that begin with toolgate- are
	// reserved. Example: data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Label().validate(self).hasValue()",message="lower-case letters, digits and hyphens, as in data"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('toolgate-')",message="names that begin with toolgate- are Toolgate's own"
	Name string `json:"name,omitempty"`
	// configMap is the name of a ConfigMap in this namespace; each key is a file.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`
	// secret is the name of a Secret in this namespace; each key is a file.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret,omitempty"`
	// emptyDir is scratch space that lives as long as the pod. Example:
	// {sizeLimit: 64Mi}.
	// +optional
	EmptyDir *EmptyDirVolume `json:"emptyDir,omitempty"`
	// persistentVolumeClaim is the name of a claim in this namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`
	// projected puts files of several ConfigMaps and Secrets into one folder.
	// +optional
	Projected *ProjectedVolume `json:"projected,omitempty"`
	// csi is a volume of a CSI driver that lives as long as the pod, such as
	// secrets from a store. Example: {driver: secrets-store.csi.k8s.io,
	// attributes: {secretProviderClass: web}}.
	// +optional
	CSI *CSIVolume `json:"csi,omitempty"`
	// ephemeral is a persistent volume that is made for each pod and deleted with
	// it. Example: {size: 10Gi}.
	// +optional
	Ephemeral *EphemeralVolume `json:"ephemeral,omitempty"`
}

// EmptyDirVolume is scratch space that lives as long as the pod.
type EmptyDirVolume struct {
	// medium Memory keeps the files in memory, where they count against the
	// container's limit. Default: the node's disk.
	// +optional
	// +kubebuilder:validation:Enum=Memory
	Medium corev1.StorageMedium `json:"medium,omitempty"`
	// sizeLimit bounds the volume, as a Kubernetes quantity of bytes. Example:
	// 64Mi. Default: no bound.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",message="a quantity of bytes above 0, such as 64Mi or 1Gi"
	SizeLimit string `json:"sizeLimit,omitempty"`
}

// ProjectedVolume is one folder with files of several sources. Tokens of service
// accounts can't be among them: a server has no business with the API server.
type ProjectedVolume struct {
	// sources in their order; where two have a file of one name, the later wins.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Sources []ProjectedSource `json:"sources,omitempty"`
}

// ProjectedSource is a ConfigMap or a Secret, or some of its keys.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMap) != has(self.secret)",message="set exactly one of configMap and secret"
type ProjectedSource struct {
	// configMap is the name of a ConfigMap in this namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`
	// secret is the name of a Secret in this namespace.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret,omitempty"`
	// items are the keys to take and the files to put them into. Default: every
	// key, as a file of its name. Example: [{key: tls.crt, path: tls/cert.pem}].
	// +optional
	// +listType=map
	// +listMapKey=path
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Items []ProjectedItem `json:"items,omitempty"`
}

// ProjectedItem is one key of a ConfigMap or Secret as a file.
type ProjectedItem struct {
	// key in its data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
	// path of the file within the volume: no .., no / at its beginning or end.
	// Example: tls/cert.pem.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[.]?[^/:.][^/:]*(/[.]?[^/:.][^/:]*)*$`
	Path string `json:"path,omitempty"`
}

// CSIVolume is a volume of a CSI driver that lives as long as the pod.
type CSIVolume struct {
	// driver is the name of the CSI driver.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self.lowerAscii()).hasValue()",message="the name of a CSI driver: letters, digits, hyphens and dots, as in secrets-store.csi.k8s.io"
	Driver string `json:"driver,omitempty"`
	// attributes are for the driver, which says what they mean.
	// +optional
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Attributes map[string]string `json:"attributes,omitempty"`
	// nodePublishSecret is the name of a Secret in this namespace that the driver
	// needs to mount the volume.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of an object in this namespace: lower-case letters, digits, hyphens and dots"
	NodePublishSecret string `json:"nodePublishSecret,omitempty"`
	// fsType of the volume, where the driver makes a file system. Example: ext4.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	FSType string `json:"fsType,omitempty"`
	// access ReadOnly has the driver mount it so. Default: ReadWrite.
	// +optional
	Access VolumeAccess `json:"access,omitempty"`
}

// EphemeralVolume is a persistent volume for the life of one pod.
type EphemeralVolume struct {
	// size that is asked for, as a Kubernetes quantity of bytes. Example: 10Gi.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))",message="a quantity of bytes above 0, such as 64Mi or 1Gi"
	Size string `json:"size,omitempty"`
	// storageClassName is the StorageClass that makes the volume. Default: the
	// cluster's.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="the name of a StorageClass: lower-case letters, digits, hyphens and dots"
	StorageClassName string `json:"storageClassName,omitempty"`
	// accessMode of the volume. Default: ReadWriteOnce.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadWriteOncePod;ReadWriteMany
	AccessMode corev1.PersistentVolumeAccessMode `json:"accessMode,omitempty"`
}
