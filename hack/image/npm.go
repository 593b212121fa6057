// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// packagePattern is an npm package with its exact version: a range or a tag
// would make the image depend on the day it was built.
var packagePattern = regexp.MustCompile(`^((?:@[a-z0-9-~][a-z0-9-._~]*/)?[a-z0-9-~][a-z0-9-._~]*)@([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)$`)

// npmSpec is what to install, and how to run it.
type npmSpec struct {
	Package string // with its exact version
	Lock    string // package-lock.json to install by; none if empty
	User    string // numeric
	Cache   string // folder for installed packages
}

// npmImage makes an image of an npm package: node and env with the libraries
// they need in one layer, which images of other packages share, the package
// with its dependencies in another.
func npmImage(ctx context.Context, spec npmSpec) (v1.Image, error) {
	match := packagePattern.FindStringSubmatch(spec.Package)
	if match == nil {
		return nil, fmt.Errorf("--package %q: want a name and an exact version, like @scope/name@1.2.3", spec.Package)
	}
	modules, err := install(ctx, match[1], match[2], spec)
	if err != nil {
		return nil, err
	}
	base, err := nodeTree(ctx, spec.User)
	if err != nil {
		return nil, err
	}
	app := tree{}
	if err := app.copyAll("app/node_modules", modules, isHiddenLock); err != nil {
		return nil, fmt.Errorf("adding %s: %w", spec.Package, err)
	}
	if err := app.scrub(ctx); err != nil {
		return nil, err
	}
	return newImage(v1.Config{
		Env:        []string{"PATH=/app/node_modules/.bin:/usr/bin:/bin", "NODE_ENV=production", "HOME=/tmp"},
		User:       spec.User + ":" + spec.User,
		WorkingDir: "/app",
		Labels:     map[string]string{"org.opencontainers.image.title": match[1], "org.opencontainers.image.version": match[2]},
	}, base, app)
}

// isHiddenLock tells npm's own note of what it installed and from where.
func isHiddenLock(p string) bool { return filepath.Base(p) == ".package-lock.json" }

// install installs the package into a folder of the cache, unless it is there
// already, and returns its node_modules. Scripts of packages are not run.
func install(ctx context.Context, pkg, version string, spec npmSpec) (string, error) {
	manifest, err := json.Marshal(map[string]any{"private": true, "dependencies": map[string]string{pkg: version}})
	if err != nil {
		return "", err
	}
	files := map[string][]byte{"package.json": manifest}
	command := []string{"install", "--no-package-lock"}
	if spec.Lock != "" {
		if files["package-lock.json"], err = os.ReadFile(spec.Lock); err != nil {
			return "", fmt.Errorf("reading --lock: %w", err)
		}
		command = []string{"ci"}
	}
	folder := filepath.Join(spec.Cache, cacheKey(pkg, version, files))
	modules := filepath.Join(folder, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	partial, err := stage(spec.Cache, files)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(partial)
	command = append(command, "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error")
	npm := exec.CommandContext(ctx, "npm", command...)
	npm.Dir = partial
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm %s for %s@%s: %w\n%s", command[0], pkg, version, err, out)
	}
	// Another process may have published the same folder meanwhile: equally good.
	if err := os.Rename(partial, folder); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("publishing %s: %w", folder, err)
	}
	return modules, nil
}

// stage makes a new folder in cache that holds files.
func stage(cache string, files map[string][]byte) (string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("making the cache for packages: %w", err)
	}
	folder, err := os.MkdirTemp(cache, "partial-")
	if err != nil {
		return "", fmt.Errorf("making a folder to install into: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return "", errors.Join(err, os.RemoveAll(folder))
		}
	}
	return folder, nil
}

// scrub removes from every package.json what npm notes there about where the
// package came from (fields that begin with an underscore), and refuses a tree
// that names the registry of this machine anywhere else: images are passed on,
// and where this machine gets its packages from is nobody's business.
func (t tree) scrub(ctx context.Context) error {
	registry, err := registryHost(ctx)
	if err != nil {
		return err
	}
	for name, e := range t {
		if e.source == "" {
			continue
		}
		content, err := os.ReadFile(e.source)
		if err != nil {
			return fmt.Errorf("reading /%s: %w", name, err)
		}
		if filepath.Base(name) == "package.json" {
			if cleaned, changed := withoutNotes(content); changed {
				content, e.source, e.bytes = cleaned, "", cleaned
				t[name] = e
			}
		}
		if registry != "" && strings.Contains(string(content), registry) {
			return fmt.Errorf("/%s names the package registry of this machine; leave it out of the package", name)
		}
	}
	return nil
}

// withoutNotes returns a package.json without the fields that npm adds. What
// is not a JSON object stays as it is: packages ship such files as test data.
func withoutNotes(content []byte) ([]byte, bool) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(content, &fields); err != nil {
		return nil, false
	}
	changed := false
	for name := range fields {
		if strings.HasPrefix(name, "_") {
			delete(fields, name)
			changed = true
		}
	}
	if !changed {
		return nil, false
	}
	cleaned, err := json.MarshalIndent(fields, "", "  ")
	return cleaned, err == nil
}

// registryHost returns the host that npm gets its packages from; "" if it is
// the public one, which the documentation of many packages names.
func registryHost(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "npm", "config", "get", "registry").Output()
	if err != nil {
		return "", fmt.Errorf("asking npm for its registry: %w", err)
	}
	_, host, _ := strings.Cut(strings.TrimSpace(string(out)), "://")
	host, _, _ = strings.Cut(host, "/")
	if host == "registry.npmjs.org" {
		return "", nil
	}
	return host, nil
}
