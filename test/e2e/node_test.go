//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	mcpv1alpha1 "toolgate.dev/toolgate/api/v1alpha1"
)

// killScript ends every child of the launcher with SIGKILL, from inside the container: process 1 is the launcher, and a
// child is whatever node runs but this script itself.
const killScript = `const fs=require("fs");for(const p of fs.readdirSync("/proc")){if(!/^[0-9]+$/.test(p)||p==="1"||p==String(process.pid))continue;` +
	`try{if(fs.readFileSync("/proc/"+p+"/environ","utf8").includes("TOOLGATE_CHILD="))process.kill(+p,"SIGKILL")}catch(e){}}`

func killChildren(ctx context.Context, pod corev1.Pod) {
	_, err := inContainer(ctx, pod, "server", "node", "-e", killScript)
	Expect(err).NotTo(HaveOccurred())
}

// inContainer runs a command in a container, as kubectl exec does.
func inContainer(ctx context.Context, pod corev1.Pod, container string, command ...string) (string, error) {
	request := typed.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, request.URL())
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Stderr: &out})
	if err != nil {
		return out.String(), fmt.Errorf("%s in %s/%s: %w: %s", command[0], pod.Name, container, err, out.String())
	}
	return out.String(), nil
}

// killContainer ends a container's first process with SIGKILL from the node, as an OOM killer would.
func killContainer(ctx context.Context, pod corev1.Pod, container string) {
	id := ""
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range list {
			if status.Name == container {
				id = strings.TrimPrefix(status.ContainerID, "containerd://")
			}
		}
	}
	Expect(id).NotTo(BeEmpty(), "container %s of %s", container, pod.Name)
	out, err := exec.CommandContext(ctx, "../../hack/k8s/in.sh", "ctr", "--namespace", "k8s.io", "task", "kill", "--signal", "SIGKILL", id).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
}

// inFlightEverywhere sums the calls in flight over all pods, from their metrics.
func inFlightEverywhere(ctx context.Context, g Gomega, server *mcpv1alpha1.MCPServer) float64 {
	total := 0.0
	for _, pod := range pods(ctx, g, server) {
		total += metric(ctx, g, pod, "toolgate_calls_in_flight")
	}
	return total
}

// metric is the sum of all series of one metric of a dispatcher.
func metric(ctx context.Context, g Gomega, pod corev1.Pod, name string) float64 {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:7311/metrics", pod.Status.PodIP), nil)
	g.Expect(err).NotTo(HaveOccurred())
	response, err := fresh.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close() //nolint:errcheck // what matters was read
	data, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, name); found && (rest[0] == ' ' || rest[0] == '{') {
			value, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' ')+1:]), 64)
			g.Expect(err).NotTo(HaveOccurred())
			total += value
		}
	}
	return total
}
