package native

import "unsafe"

// The structs below have the layout of QNN's C structs on 64-bit machines, core
// API 2.32 and later: abi_test.go holds sizes and offsets. Pointers in them are
// to memory that a hold has pinned, or that the library owns.

// Version is that of an API.
type Version struct{ Major, Minor, Patch uint32 }

// cInterface is QnnInterface_t.
type cInterface struct {
	backend uint32
	_       uint32
	name    *byte
	core    Version
	version Version
	fn      [71]uintptr
}

// cSystemInterface is QnnSystemInterface_t.
type cSystemInterface struct {
	_       [2]uint32
	_       *byte
	version Version
	_       uint32
	fn      [16]uintptr
}

// undefined is how QNN's enums say that there is no value.
const undefined = 0x7fffffff

// cQuant is Qnn_QuantizeParams_t: union holds one of the c...Scale structs, or
// the address of a cBlockwise.
type cQuant struct {
	definition uint32 // 1, or undefined
	encoding   uint32
	union      [4]uint64
}

// The values of cQuant.encoding that this package makes and reads.
const (
	perTensor   = 0
	perAxis     = 1
	bitsTensor  = 2
	bitsAxis    = 3
	blockwise   = 5
	noEncoding  = undefined
	isQuantized = 1
)

type cScaleOffset struct {
	scale  float32
	offset int32
}

type cAxisScale struct {
	axis  int32
	n     uint32
	pairs *cScaleOffset
}

type cBitsScale struct {
	bits   uint32
	scale  float32
	offset int32
}

type cBitsAxisScale struct {
	bits    uint32
	axis    int32
	n       uint32
	_       uint32
	scales  *float32
	offsets *int32
}

type cBlockwise struct {
	axis    int32
	_       uint32
	pairs   *cScaleOffset
	blocks  uint32 // of an element of axis
	bits    uint32 // of a factor
	storage uint32 // 0: a byte each
	_       uint32
	factors *byte
}

// cTensor is Qnn_Tensor_t, of version 1 as this package makes it, and of 1 or 2
// as the libraries do.
type cTensor struct {
	version uint32
	_       uint32
	id      uint32
	_       uint32
	name    *byte
	kind    uint32
	format  uint32
	dtype   uint32
	_       uint32
	quant   cQuant
	rank    uint32
	_       uint32
	dims    *uint32
	memory  uint32 // raw or registered
	_       uint32
	data    unsafe.Pointer // the bytes, or a memory handle
	size    uint32
	_       uint32
	v2      [3]uint64
}

// The values of cTensor.memory.
const (
	raw        = 0
	registered = 1
)

// cScalar is Qnn_Scalar_t, padded to a cTensor: the two are a union in Qnn_Param_t.
type cScalar struct {
	dtype uint32
	_     uint32
	value uint64
	_     [16]uint64
}

// cParam is Qnn_Param_t.
type cParam struct {
	kind   uint32 // scalarParam or tensorParam
	_      uint32
	name   *byte
	tensor cTensor
}

const (
	scalarParam = 0
	tensorParam = 1
)

// cOp is Qnn_OpConfig_t. The C API takes it by value.
type cOp struct {
	version uint32
	_       uint32
	name    *byte
	pkg     *byte
	op      *byte
	nParams uint32
	_       uint32
	params  *cParam
	nIn     uint32
	_       uint32
	in      *cTensor
	nOut    uint32
	_       uint32
	out     *cTensor
}

// cConfig is QnnDevice_Config_t, QnnGraph_Config_t and QnnContext_Config_t, each
// of which is given as an array of pointers that ends with nil.
type cConfig struct {
	_      [2]uint32 // the option: 0 says that custom is the backend's own struct
	custom unsafe.Pointer
}

// cHTPDevice is QnnHtpDevice_CustomConfig_t. Its union stood at 4 until a member
// with a pointer moved it to 8: the SoC is written at both.
type cHTPDevice struct {
	_   uint32 // the option: 0 is the SoC
	old uint32
	soc uint32
	_   uint32
}

// cHTPGraph is QnnHtpGraph_CustomConfig_t, of options with a number.
type cHTPGraph struct {
	option uint32
	_      uint32
	value  uint32
	_      uint32
	_      [5]uint64
}

// cIRGraph is QnnIrGraph_CustomConfig_t with a serialization option.
type cIRGraph struct {
	option uint32 // 1: serialization
	_      uint32
	format uint32 // 1: a DLC file
	_      uint32
	path   *byte
}

// cOpName is QnnBackend_OperationName_t.
type cOpName struct{ _, name, _ *byte }

// cMemory is Qnn_MemDescriptor_t.
type cMemory struct {
	rank   uint32
	_      uint32
	dims   *uint32
	shape  *byte
	dtype  uint32
	kind   uint32         // 2: custom is the backend's own struct
	custom unsafe.Pointer // a union with file descriptors
	_      uint64
}

// cHTPMemory is QnnMemHtp_Descriptor_t of a shared buffer.
type cHTPMemory struct {
	kind   uint32 // 1: a shared buffer
	_      uint32
	size   uint64
	fd     int32
	_      uint32
	offset uint64
}

// cBinaryInfo is QnnSystemContext_BinaryInfo_t of version 3.
type cBinaryInfo struct {
	version      uint32
	_            uint32
	backend      uint32
	_            uint32
	buildID      *byte
	core         Version
	api          Version
	socVersion   *byte
	blob         Version
	_            uint32
	blobSize     uint64
	nTensors     uint32
	_            uint32
	_            *cTensor
	nGraphs      uint32
	_            uint32
	graphs       *cGraphInfo
	_            uintptr
	metadataSize uint64
	_            uintptr
	soc          uint32
	_            uint32
}

// cGraphInfo is QnnSystemContext_GraphInfo_t, whose versions begin alike.
type cGraphInfo struct {
	_    [2]uint32
	name *byte
	nIn  uint32
	_    uint32
	in   *cTensor
	nOut uint32
	_    uint32
	out  *cTensor
	_    [5]uint64
}

// goString copies the C string at p, nil being empty.
func goString(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}
