// Package layout is the on-flash format of a lowered package: a directory with
// the manifest model.fb, the records of experts.bin and dense.bin, and copied
// companions such as tokenizer.json.
//
// It reads packages from strangers. What [Decode] and [Open] return has kept
// these rules, which [Manifest.Check] tests; a rule broken is an [*Error]:
//
//	L1  Align is a power of two from 4096 to 16 MiB
//	L2  every record and region begins at a multiple of Align and, rounded up to
//	    Align, lies within its file and overlaps no other
//	L3  Experts and Dense ascend by layer, then index, and no pair is there twice
//	L4  Dense is one record a layer, then those of the head, numbered from 0
//	L5  factors are finite and not zero
//	L6  a region has one checksum a block, a block being 32 KiB or the rest
//	L7  Files names experts.bin, dense.bin and each companion once, by plain names
//	L8  every artifact lies within a companion
//
// Which ops, classes and shapes the module needs is the business of whoever
// parses it. Memory is the garbage collector's: a decoded manifest shares none
// with the bytes it came from. Decoding allocates a small multiple of the
// manifest's size, which is bounded by [MaxManifest], and never more.
package layout

//go:generate flatc --go --gen-onefile --go-namespace fb -o fb manifest.fbs
//go:generate gofmt -w fb

const (
	// Version is the format this package writes and reads. In format 1 blocks were of 1 MiB.
	Version = 2
	// Identifier is the FlatBuffers file identifier of a manifest.
	Identifier = "ESTR"
	// DefaultAlign is the alignment of packages unless asked otherwise, in bytes.
	DefaultAlign = 16 << 10
	// BlockSize is the length in bytes of a region's checksummed blocks.
	BlockSize = 32 << 10
	// MaxManifest is the length in bytes of the longest manifest read or written.
	MaxManifest = 256 << 20

	minAlign = 4 << 10
	maxAlign = 16 << 20
)

// The files that every package has.
const (
	ManifestName = "model.fb"
	ExpertsName  = "experts.bin"
	DenseName    = "dense.bin"
)

// A Manifest says what a package is and where everything in it lies.
type Manifest struct {
	Version    int
	Align      int64      // of offsets and record strides, in bytes
	Provenance []KeyValue // source name, source hash, tool; never a time
	Family     string
	Config     []byte     // config.json verbatim
	Policy     []KeyValue // what encoding each kind of weight got, and why
	Ops        []string   // needed by Module
	Backends   []string   // able to run the package as packed
	Packing    string     // of every quantized weight
	Module     string     // IR text after the split pass
	Experts    []Record   // in experts.bin, by layer and index
	Dense      []Record   // in dense.bin: (layer, 0) each, then (layers, 0) the final norm and the like, (layers, 1...) the head's panels
	Rows       []Region   // in dense.bin
	Files      []FileSum
	Artifacts  []Artifact
}

// A KeyValue is one line of a printed table.
type KeyValue struct{ Key, Value string }

// A Record is the weights of one expert, of one layer, or of one run of the
// head's panels: tensors at the fixed offsets of its class.
type Record struct {
	Layer, Index   int
	Class          string // of an expert or a layer
	Offset, Length int64  // of the payload in the file, in bytes
	CRC            uint32 // CRC-32C of the payload
	Factors        []float32
}

// Stride is the length of the record on flash in bytes: its payload and the
// zeros up to align, a power of two.
func (r Record) Stride(align int64) int64 { return roundUp(r.Length, align) }

// A Region is a table of rows of fixed length that are read one by one.
// Rows need not be aligned; the region is.
type Region struct {
	Name      string
	Offset    int64 // in dense.bin, in bytes
	Rows      int64
	RowStride int64 // from one row to the next in bytes, at least RowBytes
	RowBytes  int64 // of a row that hold data
	Factor    float32
	Blocks    []uint32 // CRC-32C of each block
}

// Size is the length of the region's payload in bytes.
func (r Region) Size() int64 { return r.Rows * r.RowStride }

// Block gives where in dense.bin the i-th checksummed block lies: BlockSize
// bytes, or what the region has left.
func (r Region) Block(i int) (offset, length int64) {
	skip := int64(i) * BlockSize
	return r.Offset + skip, min(BlockSize, r.Size()-skip)
}

// A FileSum is a file of the package beside the manifest.
type FileSum struct {
	Name string
	Size int64
	CRC  uint32 // CRC-32C of a companion; zero for experts.bin and dense.bin, whose parts have their own
}

// An Artifact is what a backend compiled, at a place in a companion.
type Artifact struct {
	Backend, Arch, SDK string
	Name               string // of the program
	File               string
	Offset, Length     int64
	CRC                uint32 // CRC-32C of the Length bytes
}

func roundUp(n, align int64) int64 { return (n + align - 1) &^ (align - 1) }
