package crc32c

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestUpdate holds Update to hash/crc32 for every length up to some blocks, at every alignment.
func TestUpdate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 6*block+64)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for from := range 64 {
		for n := 0; n <= 6*block; n++ {
			p, crc := data[from:from+n], uint32(n)*rng.Uint32()
			if got, want := Update(crc, p), crc32.Update(crc, table, p); got != want {
				t.Fatalf("%d bytes from %d after %08x: got %08x, want %08x", n, from, crc, got, want)
			}
		}
	}
}

func TestChecksumDoesNotAllocate(t *testing.T) {
	data := make([]byte, 6*block+1)
	if n := testing.AllocsPerRun(100, func() { Checksum(data) }); n > 0 {
		t.Errorf("%d bytes: %v allocations, want none", len(data), n)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add(uint32(0), make([]byte, 3*block))
	f.Fuzz(func(t *testing.T, crc uint32, p []byte) {
		if got, want := Update(crc, p), crc32.Update(crc, table, p); got != want {
			t.Fatalf("%x after %08x: got %08x, want %08x", p, crc, got, want)
		}
	})
}

// BenchmarkChecksum is of what no cache holds.
func BenchmarkChecksum(b *testing.B) {
	data := make([]byte, 256<<20)
	for i := range data {
		data[i] = byte(i)
	}
	for name, sum := range map[string]func() uint32{
		"estream": func() uint32 { return Checksum(data) },
		"std":     func() uint32 { return crc32.Checksum(data, table) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				sum()
			}
		})
	}
}
