// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command image builds OCI archives without a container engine, the same bytes
// from the same inputs: the project's own image, images of npm packages, and
// those of the development cluster. It knows nothing of the rest of the
// project and must not import it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const usage = `usage:
  image toolgate --out FILE --tag NAME:TAG [--bin FOLDER]
  image npm      --out FILE --tag NAME:TAG --package NAME@VERSION [--lock FILE] [--user ID] [--cache FOLDER]
  image program  --out FILE --tag NAME:TAG --binary FILE`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run builds the image that args ask for and writes its archive.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("which image?\n" + usage)
	}
	flags := flag.NewFlagSet("image "+args[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "", "the archive to write")
	tag := flags.String("tag", "", "the image's whole name and tag")
	build, err := builder(args[0], flags)
	if err != nil {
		return err
	}
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if *out == "" || flags.NArg() > 0 {
		return errors.New("want --out FILE, and flags only\n" + usage)
	}
	name, err := parseTag(*tag)
	if err != nil {
		return err
	}
	image, err := build(ctx)
	if err != nil {
		return fmt.Errorf("building %s: %w", name, err)
	}
	return writeArchive(*out, name, image)
}

// builder defines the flags of one kind of image and returns what builds it
// once they are parsed.
func builder(kind string, flags *flag.FlagSet) (func(context.Context) (v1.Image, error), error) {
	switch kind {
	case "toolgate":
		bin := flags.String("bin", "bin", "the folder that holds manager and dispatcher")
		return func(context.Context) (v1.Image, error) { return toolgateImage(*bin) }, nil
	case "program":
		binary := flags.String("binary", "", "the static binary to run")
		return func(context.Context) (v1.Image, error) { return programImage(*binary) }, nil
	case "npm":
		var spec npmSpec
		flags.StringVar(&spec.Package, "package", "", "the npm package with its exact version")
		flags.StringVar(&spec.Lock, "lock", "", "package-lock.json that fixes the versions of its dependencies")
		flags.StringVar(&spec.User, "user", "10001", "the number of the user to run as")
		flags.StringVar(&spec.Cache, "cache", defaultCache(), "the folder to keep installed packages in")
		return func(ctx context.Context) (v1.Image, error) {
			if _, err := strconv.ParseUint(spec.User, 10, 31); err != nil {
				return nil, fmt.Errorf("--user %q: want a number, since runAsNonRoot cannot judge a name", spec.User)
			}
			return npmImage(ctx, spec)
		}, nil
	default:
		return nil, fmt.Errorf("no image %q\n%s", kind, usage)
	}
}

func defaultCache() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	return filepath.Join(cache, "toolgate", "npm")
}
