// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

// Command manager runs the controllers of Toolgate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	ctrl "sigs.k8s.io/controller-runtime"

	"toolgate.dev/toolgate/controllers/process"
	"toolgate.dev/toolgate/controllers/waves"
)

var version = "dev"

// options are the flags.
type options struct {
	process.Options
	logLevel slog.Level
	qps      float64
}

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", "127.0.0.1:8080", "Address of the metrics; 0 turns them off.")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", false, "Serve metrics over TLS to callers that the API server lets read them.")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "Address of /healthz and /readyz.")
	elect := flags.Bool("leader-elect", false, "Let only one manager of several act.")
	flags.StringVar(&o.Controllers.Platform.ManagerNamespace, "own-namespace", os.Getenv("POD_NAMESPACE"), "Namespace of this manager: of its Lease, and the one that dispatchers let in. Empty: outside of the cluster.")
	namespaces := flags.String("namespaces", "", "Namespaces to act in, separated by commas. Empty: all.")
	flags.StringVar(&o.Controllers.Platform.Image, "dispatcher-image", "toolgate.dev/toolgate:dev", "Image that holds the dispatcher.")
	policy := flags.String("dispatcher-image-pull-policy", "", "Pull policy of that image: Always, IfNotPresent or Never. Empty: by its tag.")
	flags.IntVar(&o.Controllers.MaxUpgrading, "max-upgrading", waves.DefaultMax, "Servers whose pods a new release of Toolgate restarts at a time.")
	flags.Float64Var(&o.qps, "kube-api-qps", 0, "Requests a second to the API server. 0: as many as its own priority and fairness lets through.")
	flags.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "Least level that is logged: debug, info, warn, error.")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: everything is a flag", flags.Arg(0))
	}
	if *elect {
		if o.LeaseNamespace = o.Controllers.Platform.ManagerNamespace; o.LeaseNamespace == "" {
			return nil, errors.New("--leader-elect needs --own-namespace, the namespace of its Lease")
		}
	}
	if *namespaces != "" {
		o.Namespaces = strings.Split(*namespaces, ",")
	}
	if err := validNamespaces(o.Namespaces); err != nil {
		return nil, err
	}
	if o.Controllers.MaxUpgrading < 1 {
		return nil, fmt.Errorf("--max-upgrading %d is not at least 1", o.Controllers.MaxUpgrading)
	}
	if o.qps < 0 {
		return nil, fmt.Errorf("--kube-api-qps %v is negative; 0 is no limit", o.qps)
	}
	switch p := corev1.PullPolicy(*policy); p {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
		o.Controllers.Platform.ImagePullPolicy = p
	default:
		return nil, fmt.Errorf("--dispatcher-image-pull-policy %q is not one of Always, IfNotPresent, Never", p)
	}
	return o, nil
}

// validNamespaces refuses names that are none: a manager that watches one which can't exist would wait in silence.
func validNamespaces(names []string) error {
	for _, name := range names {
		if faults := validation.IsDNS1123Label(name); len(faults) > 0 {
			return fmt.Errorf("--namespaces: %q is no name of a namespace (names are separated by commas alone)", name)
		}
	}
	return nil
}

func run(ctx context.Context, args []string, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: o.logLevel})))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster: %w", err)
	}
	config.QPS, config.Burst = float32(o.qps), int(2*o.qps)
	if o.qps == 0 {
		// Requests on their way are bounded by what the controllers do at a time, and a limit here would hold back thousands of servers.
		config.QPS = -1
	}
	config.UserAgent = "toolgate-manager/" + version
	if err := o.loadKeys(ctx, config); err != nil {
		return err
	}
	mgr, err := process.New(ctx, config, o.Options)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
