package layout

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/stretchr/testify/require"

	"estream/pager/layout/fb"
)

func TestRoundTrip(t *testing.T) {
	least := &Manifest{Version: Version, Align: 16 << 20, Files: []FileSum{{Name: ExpertsName}, {Name: DenseName}}}
	for _, m := range []*Manifest{valid(), least} {
		data, err := Encode(m)
		require.NoError(t, err)
		require.Equal(t, Identifier, string(data[4:8]))
		got, err := Decode(data)
		require.NoError(t, err)
		require.Equal(t, m, got)
		again, err := Encode(got)
		require.NoError(t, err)
		require.Equal(t, data, again, "encoding again")
		clear(data)
		require.Equal(t, m, got, "after the bytes it came from are gone")
	}
}

func TestDecodeRefusesEachCut(t *testing.T) {
	data, err := Encode(valid())
	require.NoError(t, err)
	for n := range data {
		_, err := Decode(data[:n])
		var typed *Error
		require.ErrorAs(t, err, &typed, "%d of %d bytes", n, len(data))
	}
}

func TestDecodeRefusesEachFlip(t *testing.T) {
	data, err := Encode(valid())
	require.NoError(t, err)
	for bit := range len(data) * 8 {
		data[bit/8] ^= 1 << (bit % 8)
		_, err := Decode(data)
		require.Error(t, err, "bit %d of byte %d", bit%8, bit/8)
		data[bit/8] ^= 1 << (bit % 8)
	}
}

// Whoever damages a manifest on purpose mends its checksum: what the verifier
// lets pass must not make the accessors panic.
func TestDecodeSurvivesMendedDamage(t *testing.T) {
	good := encode(valid())
	rng := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for range 30000 {
		data := append([]byte(nil), good...)
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(data)-4) &^ 3
			switch rng.IntN(3) {
			case 0:
				data[at+rng.IntN(4)] = byte(rng.Uint32())
			case 1:
				binary.LittleEndian.PutUint32(data[at:], rng.Uint32())
			case 2:
				copy(data[at:at+4], data[rng.IntN(len(data)-4)&^3:])
			}
		}
		if _, err := Decode(seal(data)); err != nil {
			refused++
		}
	}
	require.Greater(t, refused, 10000)
}

func TestStructureErrors(t *testing.T) {
	const family, config, ops, experts = 3, 4, 6, 10
	good := encode(valid())
	root := fb.GetRootAsManifest(good, 0).Table()
	target := func(field flatbuffers.VOffsetT) uint32 {
		return uint32(root.Indirect(root.Pos + flatbuffers.UOffsetT(root.Offset(4+2*field))))
	}
	start := uint32(root.Pos)
	vtable := start - uint32(root.GetSOffsetT(root.Pos))
	put := func(b []byte, at, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
	put16 := func(b []byte, at uint32, v uint16) { binary.LittleEndian.PutUint16(b[at:], v) }
	size := binary.LittleEndian.Uint16(good[vtable+2:])
	end := uint32(len(good))

	for _, c := range []struct {
		name  string
		spoil func(b []byte) []byte
		want  string
	}{
		{"empty", func(b []byte) []byte { return nil },
			"0 bytes are too short for a manifest"},
		{"other file", func(b []byte) []byte { copy(b[4:], "GGUF"); return b },
			`identifier "GGUF" is not "ESTR"`},
		{"root past the end", func(b []byte) []byte { put(b, 0, 1<<31); return b },
			fmt.Sprintf("4 bytes at 2147483648 run past the end, %d", end)},
		{"root unaligned", func(b []byte) []byte { put(b, 0, start+1); return b },
			fmt.Sprintf("position %d is not a multiple of 4", start+1)},
		{"vtable before the start", func(b []byte) []byte { put(b, start, start+2); return b },
			"Manifest vtable: 4 bytes at 18446744073709551614 run past the end, " + fmt.Sprint(end)},
		{"vtable too short", func(b []byte) []byte { put16(b, vtable, 2); return b },
			fmt.Sprintf("Manifest vtable: lengths 2 and %d are impossible", size)},
		{"vtable too long", func(b []byte) []byte { put16(b, vtable, 65534); return b },
			fmt.Sprintf("Manifest vtable: 65534 bytes at %d run past the end, %d", vtable, end)},
		{"table too long", func(b []byte) []byte { put16(b, vtable+2, 65535); return b },
			fmt.Sprintf("Manifest: 65535 bytes at %d run past the end, %d", start, end)},
		{"field outside its table", func(b []byte) []byte { put16(b, vtable+4+2*family, 4000); return b },
			fmt.Sprintf("family: position 4000 lies outside its table of %d bytes", size)},
		{"string past the end", func(b []byte) []byte { put(b, target(family), 1<<31); return b },
			fmt.Sprintf("family: 2147483653 bytes at %d run past the end, %d", target(family), end)},
		{"string without end", func(b []byte) []byte { b[target(family)+4+7] = 'x'; return b },
			fmt.Sprintf("family: string at %d has no final zero", target(family))},
		{"vector past the end", func(b []byte) []byte { put(b, target(config), 1<<32-1); return b },
			fmt.Sprintf("config: 4294967299 bytes at %d run past the end, %d", target(config), end)},
		{"string of a vector", func(b []byte) []byte { put(b, target(ops)+8, end); return b },
			fmt.Sprintf("ops.1: 4 bytes at %d run past the end, %d", target(ops)+8+end, end)},
		{"table of a vector", func(b []byte) []byte { put(b, target(experts)+12, 1<<20); return b },
			fmt.Sprintf("experts.2: 4 bytes at %d run past the end, %d", target(experts)+12+1<<20, end)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.spoil(append([]byte(nil), good...))
			_, err := Decode(seal(b))
			require.EqualError(t, err, "model.fb: "+c.want+": the file is damaged; copy the package again")
		})
	}
}

// A few bytes that are pointed to a million times must not become gigabytes.
func TestDecodeRefusesSharing(t *testing.T) {
	b := flatbuffers.NewBuilder(0)
	class := b.CreateString(string(make([]byte, 1000)))
	fb.RecordStart(b)
	fb.RecordAddClass(b, class)
	record := fb.RecordEnd(b)
	n := 2000
	fb.ManifestStartExpertsVector(b, n)
	for range n {
		b.PrependUOffsetT(record)
	}
	experts := b.EndVector(n)
	fb.ManifestStart(b)
	fb.ManifestAddVersion(b, Version)
	fb.ManifestAddExperts(b, experts)
	b.FinishWithFileIdentifier(fb.ManifestEnd(b), []byte(Identifier))
	_, err := Decode(seal(b.FinishedBytes()))
	var typed *Error
	require.ErrorAs(t, err, &typed)
	require.Regexp(t, `bytes at \d+ are part of two things: the file is damaged; copy the package again$`, typed.Rule)
}

func TestDecodeRefusesDamageAndSize(t *testing.T) {
	data, err := Encode(valid())
	require.NoError(t, err)
	data[len(data)-1] ^= 1
	want := binary.LittleEndian.Uint32(data[len(data)-4:])
	_, err = Decode(data)
	require.EqualError(t, err, fmt.Sprintf("model.fb: checksum is %08x, not %08x: the file is damaged; copy the package again", want^1<<24, want))

	m := valid()
	m.Config = make([]byte, MaxManifest)
	_, err = Encode(m)
	require.EqualError(t, err, "model.fb: 268435467 bytes are more than a manifest may have, 268435456")
	_, err = Decode(make([]byte, MaxManifest+1))
	require.EqualError(t, err, "model.fb: 268435457 bytes are more than a manifest may have, 268435456")
}

// The newer format is told even where the checksum would be of another kind.
func TestDecodeNewerFirst(t *testing.T) {
	m := valid()
	m.Version = 7
	_, err := Decode(append(encode(m), 0, 0, 0, 0))
	require.EqualError(t, err, "model.fb: version: made by a newer estream, format 7; this one reads 2")
}

func FuzzDecode(f *testing.F) {
	data := encode(valid())
	f.Add(data)
	for n := 8; n < len(data); n += len(data) / 16 {
		f.Add(data[:n])
	}
	f.Add(encode(&Manifest{Version: 2}))
	f.Fuzz(func(t *testing.T, body []byte) {
		Decode(body)
		m, err := Decode(seal(append([]byte(nil), body...)))
		if err != nil {
			return
		}
		again, err := Encode(m)
		if err != nil {
			t.Fatalf("decoded but not encoded: %v", err)
		}
		same, err := Decode(again)
		if err != nil {
			t.Fatalf("encoded but not decoded: %v", err)
		}
		require.Equal(t, m, same)
	})
}

// many is OLMoE-like but larger: 48 layers of 128 experts.
func many() *Manifest {
	m := &Manifest{Version: Version, Align: DefaultAlign, Module: string(make([]byte, 100<<10))}
	for i := range 6144 {
		m.Experts = append(m.Experts, Record{
			Layer: i / 128, Index: i % 128, Class: "expert.w4g64", Offset: int64(i) * 2 << 20, Length: 2<<20 - 100,
			CRC: uint32(i), Factors: []float32{1, 2, 4},
		})
	}
	m.Files = []FileSum{{Name: ExpertsName, Size: 6144 * 2 << 20}, {Name: DenseName}}
	return m
}

func BenchmarkDecode(b *testing.B) {
	data, err := Encode(many())
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	m := many()
	for b.Loop() {
		if _, err := Encode(m); err != nil {
			b.Fatal(err)
		}
	}
}
