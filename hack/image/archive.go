// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// platform is that of this machine, whose binaries go into the image.
var platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// newImage makes an image with one layer for each tree.
func newImage(config v1.Config, trees ...tree) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Created: v1.Time{Time: epoch}, Config: config,
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, fmt.Errorf("setting the image's configuration: %w", err)
	}
	for _, t := range trees {
		layer, err := t.layer()
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}}})
		if err != nil {
			return nil, fmt.Errorf("adding a layer: %w", err)
		}
	}
	return image, nil
}

// parseTag wants the whole name: what a shorter one means depends on the reader.
func parseTag(tag string) (name.Tag, error) {
	t, err := name.NewTag(tag, name.StrictValidation)
	if err != nil {
		return name.Tag{}, fmt.Errorf("--tag %q: %w; give it whole, like toolgate.dev/demo/everything:1.0.0", tag, err)
	}
	return t, nil
}

// writeArchive writes image as an OCI image layout in a tar archive (OCI Image
// Format Specification, image-layout.md), index first, under the name tag. The
// file appears whole or not at all.
func writeArchive(file string, tag name.Tag, image v1.Image) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("making the archive's folder: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".partial-*")
	if err != nil {
		return fmt.Errorf("creating the archive: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := tar.NewWriter(f)
	if err := writeLayout(w, tag, image); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := errors.Join(w.Close(), f.Chmod(0o644)); err != nil {
		return fmt.Errorf("ending %s: %w", file, err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("publishing %s: %w", file, err)
	}
	return f.Close()
}

func writeLayout(w *tar.Writer, tag name.Tag, image v1.Image) error {
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: image,
		Descriptor: v1.Descriptor{Platform: &platform, Annotations: map[string]string{
			"io.containerd.image.name":          tag.Name(),
			"org.opencontainers.image.ref.name": tag.TagStr(),
		}},
	})
	manifest, err := index.RawManifest()
	if err != nil {
		return err
	}
	if err := writeBytes(w, "index.json", manifest); err != nil {
		return err
	}
	if err := writeBytes(w, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	return writeBlobs(w, image)
}

// writeBlobs writes manifest, configuration and layers, each blob once: two
// equal layers are one blob.
func writeBlobs(w *tar.Writer, image v1.Image) error {
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	configName, err := image.ConfigName()
	if err != nil {
		return err
	}
	if err := errors.Join(writeBytes(w, blob(digest), manifest), writeBytes(w, blob(configName), config)); err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	var written []v1.Hash
	for _, l := range layers {
		h, err := l.Digest()
		if err != nil {
			return err
		}
		if slices.Contains(written, h) {
			continue
		}
		written = append(written, h)
		if err := writeLayer(w, h, l); err != nil {
			return err
		}
	}
	return nil
}

func writeLayer(w *tar.Writer, h v1.Hash, l v1.Layer) error {
	size, err := l.Size()
	if err != nil {
		return err
	}
	content, err := l.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	if err := w.WriteHeader(header(blob(h), size)); err != nil {
		return err
	}
	_, err = io.Copy(w, content)
	return err
}

func writeBytes(w *tar.Writer, name string, content []byte) error {
	if err := w.WriteHeader(header(name, int64(len(content)))); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: epoch}
}

func blob(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
