// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher"
	"toolgate.dev/toolgate/internal/launcher"
	"toolgate.dev/toolgate/internal/registry"
	"toolgate.dev/toolgate/internal/registry/statekey"
)

const (
	// podSettle is how long a drain in a pod lets Services and their proxies hear of it before it counts what is in flight.
	podSettle = 2 * time.Second
	// podDrain leaves some seconds of a pod's default grace period (60 s) for everything else; a person waits less.
	podDrain  = 50 * time.Second
	deskDrain = 5 * time.Second
)

// serveFlags are those of `dispatcher serve`.
type serveFlags struct {
	registry, revision          string
	upstream                    string
	listen, adminListen, probe  string
	metricsListen               string
	launchSocket, logLevel, dir string
	peers                       string
	references, baseline        string
	stateKey                    string
	stdio, webSocket            bool
	drainTimeout                time.Duration
	allowHosts, allowOrigins    list
	command                     []string
	run                         runner
}

// runner runs what serves.
type runner func(ctx context.Context, serve func(context.Context) error) error

// profiling gives a runner with flags of its own, in a build for measurements.
var profiling = func(*flag.FlagSet) runner {
	return func(ctx context.Context, serve func(context.Context) error) error { return serve(ctx) }
}

func (f *serveFlags) parse(args []string, e env) error {
	flags := flag.NewFlagSet("dispatcher serve", flag.ContinueOnError)
	flags.StringVar(&f.registry, "registry", "", "`path` of the registry document: its file, or the directory of its files (required)")
	flags.StringVar(&f.revision, "revision", "", "the server's `revision` in the document; may be left out where there is only one")
	flags.StringVar(&f.upstream, "upstream", "", "how the server of that revision is reached, as `JSON` of the document's upstream; empty takes the document's")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7310", "`address` for clients: MCP at /mcp and, as of 2024-11-05, at /sse; REST under /api/mcp/")
	flags.BoolVar(&f.webSocket, "websocket", false, "serve MCP over WebSocket at /ws too")
	flags.StringVar(&f.adminListen, "admin-listen", "127.0.0.1:7311", "`address` for /state, /metrics and /drain; empty for none")
	flags.StringVar(&f.metricsListen, "metrics-listen", "", "`address` for /metrics alone; empty for none")
	flags.StringVar(&f.probe, "probe-listen", "", "`address` for the kubelet's probes; empty for none")
	flags.StringVar(&f.peers, "peers", "", "`host` whose addresses are those of all replicas of the server; needs POD_IP, this one's address, in the environment")
	flags.StringVar(&f.references, "references", "", "`directory` with the ConfigMaps and Secrets of the server, a directory each")
	flags.StringVar(&f.baseline, "references-baseline", "", "`file` that remembers what they were when the pod was started")
	flags.StringVar(&f.stateKey, "state-key-file", "", "`file` of the key that proves the answers of /state; empty for none")
	flags.StringVar(&f.launchSocket, "launch-socket", "", "`path` of the launcher's socket, for a stdio server in a pod")
	flags.BoolVar(&f.stdio, "stdio", false, "start the command after -- for a stdio server at a desk")
	flags.StringVar(&f.dir, "dir", "", "working `directory` of that command")
	flags.StringVar(&f.logLevel, "log-level", "info", "least `level` that is logged: debug, info, warn, error")
	flags.DurationVar(&f.drainTimeout, "drain-timeout", 0, "how long a drain waits for calls in flight; 0 is 50s with --probe-listen, 5s without")
	flags.Var(&f.allowHosts, "allow-host", "another host `name` by which clients reach this; may be repeated")
	flags.Var(&f.allowOrigins, "allow-origin", "another `origin` of web pages that may call, such as https://app.example.org; may be repeated")
	f.run = profiling(flags)
	if err := parse(flags, args, e); err != nil {
		return err
	}
	f.command = flags.Args()
	return f.check()
}

func (f *serveFlags) check() error {
	switch {
	case f.registry == "":
		return errors.New("serve needs --registry FILE; `dispatcher registry init -- COMMAND` writes a first one")
	case f.stdio && len(f.command) == 0:
		return errors.New("--stdio needs the server's command after --, such as: dispatcher serve --registry FILE --stdio -- npx some-server")
	case !f.stdio && len(f.command) > 0:
		return fmt.Errorf("%q would not be started: add --stdio before -- to start it", f.command[0])
	case (f.references == "") != (f.baseline == ""):
		return errors.New("--references and --references-baseline need each other")
	case f.stdio && f.launchSocket != "":
		return errors.New("--stdio and --launch-socket are two ways to start a server; give one")
	}
	return nil
}

// serve runs the dispatcher until ctx ends.
func serve(ctx context.Context, args []string, e env) error {
	var f serveFlags
	if err := f.parse(args, e); err != nil {
		return parsed(err)
	}
	log, err := newLog(e.stderr, f.logLevel)
	if err != nil {
		return err
	}
	options := dispatcher.Options{
		RegistryPath: f.registry, Revision: f.revision, Version: version, PodUID: e.getenv("POD_UID"),
		AllowHosts: f.allowHosts, AllowOrigins: f.allowOrigins, DrainTimeout: f.drainTimeout,
		Audit: patiently(e.stdout), Log: log, Now: time.Now, ShowRules: f.probe == "", WebSocket: f.webSocket,
		References: dispatcher.References{Dir: f.references, Baseline: f.baseline},
	}
	if f.probe != "" {
		options.DrainSettle = podSettle
	}
	if f.drainTimeout == 0 {
		options.DrainTimeout = map[bool]time.Duration{true: podDrain, false: deskDrain}[f.probe != ""]
	}
	if options.Telemetry, err = telemetry(e.getenv); err != nil {
		return err
	}
	if options.StateKey, err = f.key(); err != nil {
		return err
	}
	if options.Upstream, err = f.way(); err != nil {
		return err
	}
	switch {
	case f.stdio:
		local := launcher.Local(launcher.ServeOptions{Command: f.command, Dir: f.dir, Log: e.stderr})
		options.Spawner, options.Release = localSpawner{local}, local.Close
	case f.launchSocket != "":
		remote := &socketSpawner{path: f.launchSocket}
		options.Spawner, options.Release = remote, remote.Close
	}
	if options.Listeners, err = f.listeners(ctx); err != nil {
		return err
	}
	if options.Replicas, err = f.replicas(e, options.Listeners.MCP); err != nil {
		return err
	}
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE) // records that nobody reads any more are an error, not the end of the process
	defer signal.Stop(broken)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	return f.run(ctx, dispatcher.New(options).Run)
}

// key reads the key that proves who answers. A dispatcher that was given one does not start without it.
func (f *serveFlags) key() (statekey.Key, error) {
	if f.stateKey == "" {
		return statekey.Key{}, nil
	}
	data, err := os.ReadFile(f.stateKey)
	if err != nil {
		return statekey.Key{}, fmt.Errorf("--state-key-file: %w", err)
	}
	key, err := statekey.Parse(data)
	if err != nil {
		return statekey.Key{}, fmt.Errorf("--state-key-file %s: %w", f.stateKey, err)
	}
	return key, nil
}

// way reads how the server is reached; nil leaves that to the document.
func (f *serveFlags) way() (*registry.Upstream, error) {
	if f.upstream == "" {
		return nil, nil
	}
	u, err := registry.ReadUpstream(f.upstream)
	if err != nil {
		return nil, fmt.Errorf("--upstream %s: %w", f.upstream, err)
	}
	return u, nil
}

func closeLogged(log *slog.Logger, c io.Closer) {
	if err := c.Close(); err != nil {
		log.Warn("the server's processes did not end well", "err", err)
	}
}

func newLog(w io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level %q is not one of debug, info, warn, error", level)
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l})), nil
}

// listeners opens all listeners or none.
func (f *serveFlags) listeners(ctx context.Context) (l dispatcher.Listeners, err error) {
	for _, one := range []struct {
		flag, address string
		into          *net.Listener
	}{{"listen", f.listen, &l.MCP}, {"admin-listen", f.adminListen, &l.Admin}, {"metrics-listen", f.metricsListen, &l.Metrics}, {"probe-listen", f.probe, &l.Probe}} {
		if one.address == "" {
			continue
		}
		var config net.ListenConfig
		if *one.into, err = config.Listen(ctx, "tcp", one.address); err != nil {
			for _, open := range []net.Listener{l.MCP, l.Admin, l.Metrics} {
				if open != nil {
					_ = open.Close() // nothing has come in yet
				}
			}
			return dispatcher.Listeners{}, fmt.Errorf("--%s %s: %w; name another address", one.flag, one.address, err)
		}
	}
	return l, nil
}
