package layout

import (
	"encoding/binary"

	flatbuffers "github.com/google/flatbuffers/go"

	"estream/pager/crc32c"
	"estream/pager/layout/fb"
)

// Encode gives the bytes of model.fb, the same for the same manifest. A
// manifest that [Manifest.Check] refuses is not encoded.
func Encode(m *Manifest) ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	if n := len(m.Config) + len(m.Module); n > MaxManifest {
		return nil, tooLong(int64(n)) // before it is copied
	}
	out := seal(encode(m))
	if len(out) > MaxManifest {
		return nil, tooLong(int64(len(out)))
	}
	return out, nil
}

// seal appends the checksum that ends a manifest.
func seal(buf []byte) []byte {
	return binary.LittleEndian.AppendUint32(buf, crc32c.Checksum(buf))
}

func encode(m *Manifest) []byte {
	e := encoder{flatbuffers.NewBuilder(1 << 16)}
	provenance := vector(e, m.Provenance, e.keyValue)
	family := e.text(m.Family)
	config := e.bytes(m.Config)
	policy := vector(e, m.Policy, e.keyValue)
	ops := vector(e, m.Ops, e.text)
	backends := vector(e, m.Backends, e.text)
	packing := e.text(m.Packing)
	module := e.text(m.Module)
	experts := vector(e, m.Experts, e.record)
	dense := vector(e, m.Dense, e.record)
	rows := vector(e, m.Rows, e.region)
	files := vector(e, m.Files, e.fileSum)
	artifacts := vector(e, m.Artifacts, e.artifact)

	fb.ManifestStart(e.b)
	fb.ManifestAddVersion(e.b, int32(m.Version))
	fb.ManifestAddAlign(e.b, m.Align)
	fb.ManifestAddProvenance(e.b, provenance)
	fb.ManifestAddFamily(e.b, family)
	fb.ManifestAddConfig(e.b, config)
	fb.ManifestAddPolicy(e.b, policy)
	fb.ManifestAddOps(e.b, ops)
	fb.ManifestAddBackends(e.b, backends)
	fb.ManifestAddPacking(e.b, packing)
	fb.ManifestAddModule(e.b, module)
	fb.ManifestAddExperts(e.b, experts)
	fb.ManifestAddDense(e.b, dense)
	fb.ManifestAddRows(e.b, rows)
	fb.ManifestAddFiles(e.b, files)
	fb.ManifestAddArtifacts(e.b, artifacts)
	e.b.FinishWithFileIdentifier(fb.ManifestEnd(e.b), []byte(Identifier))
	return e.b.FinishedBytes()
}

// An encoder puts things into a buffer. Each method gives the offset of what it
// put; zero is an empty vector, which its table then leaves out.
type encoder struct{ b *flatbuffers.Builder }

func vector[T any](e encoder, items []T, put func(T) flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	if len(items) == 0 {
		return 0
	}
	offsets := make([]flatbuffers.UOffsetT, len(items))
	for i, item := range items {
		offsets[i] = put(item)
	}
	return e.b.CreateVectorOfTables(offsets)
}

func (e encoder) text(s string) flatbuffers.UOffsetT { return e.b.CreateString(s) }

func (e encoder) bytes(p []byte) flatbuffers.UOffsetT {
	if len(p) == 0 {
		return 0
	}
	return e.b.CreateByteVector(p)
}

func (e encoder) keyValue(kv KeyValue) flatbuffers.UOffsetT {
	key, value := e.text(kv.Key), e.text(kv.Value)
	fb.KeyValueStart(e.b)
	fb.KeyValueAddKey(e.b, key)
	fb.KeyValueAddValue(e.b, value)
	return fb.KeyValueEnd(e.b)
}

func (e encoder) record(r Record) flatbuffers.UOffsetT {
	class := e.text(r.Class)
	var factors flatbuffers.UOffsetT
	if n := len(r.Factors); n > 0 {
		fb.RecordStartFactorsVector(e.b, n)
		for i := n - 1; i >= 0; i-- {
			e.b.PrependFloat32(r.Factors[i])
		}
		factors = e.b.EndVector(n)
	}
	fb.RecordStart(e.b)
	fb.RecordAddLayer(e.b, int32(r.Layer))
	fb.RecordAddIndex(e.b, int32(r.Index))
	fb.RecordAddClass(e.b, class)
	fb.RecordAddOffset(e.b, r.Offset)
	fb.RecordAddLength(e.b, r.Length)
	fb.RecordAddCrc(e.b, r.CRC)
	fb.RecordAddFactors(e.b, factors)
	return fb.RecordEnd(e.b)
}

func (e encoder) region(r Region) flatbuffers.UOffsetT {
	name := e.text(r.Name)
	n := len(r.Blocks)
	fb.RegionStartBlocksVector(e.b, n)
	for i := n - 1; i >= 0; i-- {
		e.b.PrependUint32(r.Blocks[i])
	}
	blocks := e.b.EndVector(n)
	fb.RegionStart(e.b)
	fb.RegionAddName(e.b, name)
	fb.RegionAddOffset(e.b, r.Offset)
	fb.RegionAddRows(e.b, r.Rows)
	fb.RegionAddRowStride(e.b, r.RowStride)
	fb.RegionAddRowBytes(e.b, r.RowBytes)
	fb.RegionAddFactor(e.b, r.Factor)
	fb.RegionAddBlocks(e.b, blocks)
	return fb.RegionEnd(e.b)
}

func (e encoder) fileSum(f FileSum) flatbuffers.UOffsetT {
	name := e.text(f.Name)
	fb.FileSumStart(e.b)
	fb.FileSumAddName(e.b, name)
	fb.FileSumAddSize(e.b, f.Size)
	fb.FileSumAddCrc(e.b, f.CRC)
	return fb.FileSumEnd(e.b)
}

func (e encoder) artifact(a Artifact) flatbuffers.UOffsetT {
	backend, arch, sdk := e.text(a.Backend), e.text(a.Arch), e.text(a.SDK)
	name, file := e.text(a.Name), e.text(a.File)
	fb.ArtifactStart(e.b)
	fb.ArtifactAddBackend(e.b, backend)
	fb.ArtifactAddArch(e.b, arch)
	fb.ArtifactAddSdk(e.b, sdk)
	fb.ArtifactAddName(e.b, name)
	fb.ArtifactAddFile(e.b, file)
	fb.ArtifactAddOffset(e.b, a.Offset)
	fb.ArtifactAddLength(e.b, a.Length)
	fb.ArtifactAddCrc(e.b, a.CRC)
	return fb.ArtifactEnd(e.b)
}
