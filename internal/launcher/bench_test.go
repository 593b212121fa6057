// Copyright 2026 The Toolgate Authors.
// SPDX-License-Identifier: Apache-2.0

package launcher

import (
	"bufio"
	"io"
	"testing"
)

// benchOnBoth runs a benchmark with children of this process and of a launcher.
func benchOnBoth(b *testing.B, run func(b *testing.B, s spawner)) {
	b.Run("local", func(b *testing.B) {
		l := Local(options("echo"))
		defer closeAll(l)
		run(b, l)
	})
	b.Run("socket", func(b *testing.B) {
		c := dialServe(b, options("echo"))
		defer closeAll(c)
		run(b, c)
	})
}

func BenchmarkSpawnToFirstReply(b *testing.B) {
	benchOnBoth(b, func(b *testing.B, s spawner) {
		for b.Loop() {
			p := spawn(b, s)
			say(b, p, "hello")
			b.StopTimer()
			closeAll(p)
			<-p.Exited()
			b.StartTimer()
		}
	})
}

func BenchmarkRoundTrip(b *testing.B) {
	line := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	benchOnBoth(b, func(b *testing.B, s spawner) {
		p := spawn(b, s)
		defer closeAll(p)
		in := bufio.NewReader(p.Stdout())
		for b.Loop() {
			if _, err := p.Stdin().Write(line); err != nil {
				b.Fatal(err)
			}
			if _, err := in.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkThroughput(b *testing.B) {
	const size = 1 << 20
	block := make([]byte, size)
	benchOnBoth(b, func(b *testing.B, s spawner) {
		p := spawn(b, s)
		defer closeAll(p)
		back := make([]byte, size)
		b.SetBytes(2 * size)
		for b.Loop() {
			written := make(chan error, 1)
			go func() {
				_, err := p.Stdin().Write(block)
				written <- err
			}()
			if _, err := io.ReadFull(p.Stdout(), back); err != nil {
				b.Fatal(err)
			}
			if err := <-written; err != nil {
				b.Fatal(err)
			}
		}
	})
}
