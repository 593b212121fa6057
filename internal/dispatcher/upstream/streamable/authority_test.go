// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package streamable

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"toolgate.dev/toolgate/internal/dispatcher/upstream"
	"toolgate.dev/toolgate/internal/dispatcher/upstream/upstreamtest"
	"toolgate.dev/toolgate/internal/registry"
)

// TestACertificateThatIsNoAuthoritySignsNothing: a bundle names authorities, and a plain certificate in it must not vouch for
// another server (Kuadrant 1247).
func TestACertificateThatIsNoAuthoritySignsNothing(t *testing.T) {
	for name, authority := range map[string]bool{"an authority": true, "a plain certificate": false} {
		t.Run(name, func(t *testing.T) {
			key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			signer := &x509.Certificate{
				SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "signer"}, BasicConstraintsValid: true, IsCA: authority,
				NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
			}
			leaf := &x509.Certificate{
				SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
				NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
			}
			signerDER, err := x509.CreateCertificate(rand.Reader, signer, signer, key.Public(), key)
			if err != nil {
				t.Fatal(err)
			}
			leafDER, err := x509.CreateCertificate(rand.Reader, leaf, signer, key.Public(), key)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewUnstartedServer(newFake())
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: key}}}
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			server.StartTLS()
			t.Cleanup(server.Close)
			file := filepath.Join(t.TempDir(), "ca.pem")
			if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signerDER}), 0o600); err != nil {
				t.Fatal(err)
			}
			conn, err := newDialer(t, Options{URL: server.URL, Remote: true, CAFile: file}).Dial(t.Context(), upstream.Hello{}, nil)
			if !authority {
				upstreamtest.WantFailure(t, err, registry.FailUnreachable, "certificate")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
