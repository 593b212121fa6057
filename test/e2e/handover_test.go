//go:build e2e

// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A server with one replica", func() {
	It("has a pod that drains hear what its clients say to the one that takes its place", func(ctx SpecContext) {
		server := everything(newNamespace(ctx), "single")
		server.Spec.TimeoutSeconds, server.Spec.Pod.TerminationGracePeriodSeconds = new(int32(120)), new(int64(180))
		create(ctx, server)
		expectReady(ctx, server)
		before := onlyPod(ctx, server)
		session := begin(ctx, podEndpoint(before))
		over := make(chan struct{})
		go func() {
			defer close(over)
			// What comes of it is nothing: it is cancelled.
			_, _, _ = callIn(ctx, session, podEndpoint(before), "trigger-long-running-operation", `{"duration":110,"steps":110}`)
		}()
		Eventually(func(g Gomega) { g.Expect(inFlightEverywhere(ctx, g, server)).To(BeEquivalentTo(1)) }).Should(Succeed())
		Expect(kube.Delete(ctx, &before)).To(Succeed())
		Eventually(func(g Gomega) {
			after := onlyPod(ctx, server)
			g.Expect(after.UID).NotTo(Equal(before.UID))
			response, err := post(ctx, session, podEndpoint(after), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Body.Close()).To(Succeed())
			g.Expect(response.StatusCode).To(Equal(http.StatusAccepted), "the pod that drains holds the session")
		}).Should(Succeed())
		Eventually(over).WithTimeout(ended).Should(BeClosed())
	}, SpecTimeout(5*time.Minute))
})
