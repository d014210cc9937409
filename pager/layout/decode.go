package layout

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"estream/pager/crc32c"
	"estream/pager/layout/fb"
)

// Decode reads the bytes of a model.fb, which may come from anybody, and checks
// them: structure, version, checksum, then the rules of [Manifest.Check]. The
// error is an [*Error]. The manifest shares no memory with data.
func Decode(data []byte) (*Manifest, error) {
	if len(data) > MaxManifest {
		return nil, tooLong(int64(len(data)))
	}
	body := data[:max(0, len(data)-crc32.Size)]
	if err := verifyStructure(body); err != nil {
		e := err.(*Error) // of malformed
		return nil, &Error{e.File, e.Thing, e.Rule + damaged}
	}
	root := fb.GetRootAsManifest(body, 0)
	if err := checkVersion(int(root.Version())); err != nil {
		return nil, err
	}
	want := binary.LittleEndian.Uint32(data[len(body):])
	if got := crc32c.Checksum(body); got != want {
		return nil, &Error{ManifestName, "", fmt.Sprintf("checksum is %08x, not %08x"+damaged, got, want)}
	}
	m := decode(root)
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, nil
}

// damaged ends what is said of a manifest that nobody wrote so.
const damaged = ": the file is damaged; copy the package again"

func tooLong(size int64) *Error {
	return &Error{ManifestName, "", fmt.Sprintf("%d bytes are more than a manifest may have, %d", size, MaxManifest)}
}

func decode(root *fb.Manifest) *Manifest {
	classes := interner{}
	return &Manifest{
		Version:    int(root.Version()),
		Align:      root.Align(),
		Provenance: decodeTables(root.ProvenanceLength(), root.Provenance, decodeKeyValue),
		Family:     string(root.Family()),
		Config:     append([]byte(nil), root.ConfigBytes()...), // nil where it is empty
		Policy:     decodeTables(root.PolicyLength(), root.Policy, decodeKeyValue),
		Ops:        decodeStrings(root.OpsLength(), root.Ops),
		Backends:   decodeStrings(root.BackendsLength(), root.Backends),
		Packing:    string(root.Packing()),
		Module:     string(root.Module()),
		Experts:    decodeTables(root.ExpertsLength(), root.Experts, classes.record),
		Dense:      decodeTables(root.DenseLength(), root.Dense, classes.record),
		Rows:       decodeTables(root.RowsLength(), root.Rows, decodeRegion),
		Files:      decodeTables(root.FilesLength(), root.Files, decodeFileSum),
		Artifacts:  decodeTables(root.ArtifactsLength(), root.Artifacts, decodeArtifact),
	}
}

// decodeTables copies n tables: get moves an accessor to the i-th, and one
// copies it.
func decodeTables[A, T any](n int, get func(*A, int) bool, one func(*A) T) []T {
	if n == 0 {
		return nil
	}
	var at A
	out := make([]T, n)
	for i := range out {
		get(&at, i)
		out[i] = one(&at)
	}
	return out
}

func decodeStrings(n int, get func(int) []byte) []string {
	return decodeSlice(n, func(i int) string { return string(get(i)) })
}

func decodeSlice[T any](n int, get func(int) T) []T {
	if n == 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = get(i)
	}
	return out
}

func decodeKeyValue(kv *fb.KeyValue) KeyValue {
	return KeyValue{string(kv.Key()), string(kv.Value())}
}

// An interner keeps one copy of each class name: thousands of records share a few.
type interner map[string]string

func (names interner) record(r *fb.Record) Record {
	class, ok := names[string(r.Class())]
	if !ok {
		class = string(r.Class())
		names[class] = class
	}
	return Record{
		Layer:   int(r.Layer()),
		Index:   int(r.Index()),
		Class:   class,
		Offset:  r.Offset(),
		Length:  r.Length(),
		CRC:     r.Crc(),
		Factors: decodeSlice(r.FactorsLength(), r.Factors),
	}
}

func decodeRegion(r *fb.Region) Region {
	return Region{
		Name:      string(r.Name()),
		Offset:    r.Offset(),
		Rows:      r.Rows(),
		RowStride: r.RowStride(),
		RowBytes:  r.RowBytes(),
		Factor:    r.Factor(),
		Blocks:    decodeSlice(r.BlocksLength(), r.Blocks),
	}
}

func decodeFileSum(f *fb.FileSum) FileSum {
	return FileSum{Name: string(f.Name()), Size: f.Size(), CRC: f.Crc()}
}

func decodeArtifact(a *fb.Artifact) Artifact {
	return Artifact{
		Backend: string(a.Backend()),
		Arch:    string(a.Arch()),
		SDK:     string(a.Sdk()),
		Name:    string(a.Name()),
		File:    string(a.File()),
		Offset:  a.Offset(),
		Length:  a.Length(),
		CRC:     a.Crc(),
	}
}
