package native

import (
	"testing"
	"unsafe"
)

func TestLayout(t *testing.T) {
	var (
		face cInterface
		sys  cSystemInterface
		q    cQuant
		ax   cAxisScale
		bax  cBitsAxisScale
		blk  cBlockwise
		ten  cTensor
		sc   cScalar
		par  cParam
		op   cOp
		cfg  cConfig
		dev  cHTPDevice
		hg   cHTPGraph
		ir   cIRGraph
		mem  cMemory
		hm   cHTPMemory
		bin  cBinaryInfo
		gi   cGraphInfo
	)
	for _, c := range []struct {
		what      string
		got, want uintptr
	}{
		{"interface", unsafe.Sizeof(face), 608},
		{"interface.name", unsafe.Offsetof(face.name), 8},
		{"interface.core", unsafe.Offsetof(face.core), 16},
		{"interface.version", unsafe.Offsetof(face.version), 28},
		{"interface.fn", unsafe.Offsetof(face.fn), 40},
		{"system interface", unsafe.Sizeof(sys), 160},
		{"system interface.version", unsafe.Offsetof(sys.version), 16},
		{"system interface.fn", unsafe.Offsetof(sys.fn), 32},
		{"quant", unsafe.Sizeof(q), 40},
		{"quant.union", unsafe.Offsetof(q.union), 8},
		{"scale offset", unsafe.Sizeof(cScaleOffset{}), 8},
		{"axis scale", unsafe.Sizeof(ax), 16},
		{"axis scale.pairs", unsafe.Offsetof(ax.pairs), 8},
		{"bits scale", unsafe.Sizeof(cBitsScale{}), 12},
		{"bits axis scale", unsafe.Sizeof(bax), 32},
		{"bits axis scale.scales", unsafe.Offsetof(bax.scales), 16},
		{"bits axis scale.offsets", unsafe.Offsetof(bax.offsets), 24},
		{"blockwise", unsafe.Sizeof(blk), 40},
		{"blockwise.pairs", unsafe.Offsetof(blk.pairs), 8},
		{"blockwise.blocks", unsafe.Offsetof(blk.blocks), 16},
		{"blockwise.bits", unsafe.Offsetof(blk.bits), 20},
		{"blockwise.storage", unsafe.Offsetof(blk.storage), 24},
		{"blockwise.factors", unsafe.Offsetof(blk.factors), 32},
		{"tensor", unsafe.Sizeof(ten), 144},
		{"tensor.id", unsafe.Offsetof(ten.id), 8},
		{"tensor.name", unsafe.Offsetof(ten.name), 16},
		{"tensor.kind", unsafe.Offsetof(ten.kind), 24},
		{"tensor.format", unsafe.Offsetof(ten.format), 28},
		{"tensor.dtype", unsafe.Offsetof(ten.dtype), 32},
		{"tensor.quant", unsafe.Offsetof(ten.quant), 40},
		{"tensor.rank", unsafe.Offsetof(ten.rank), 80},
		{"tensor.dims", unsafe.Offsetof(ten.dims), 88},
		{"tensor.memory", unsafe.Offsetof(ten.memory), 96},
		{"tensor.data", unsafe.Offsetof(ten.data), 104},
		{"tensor.size", unsafe.Offsetof(ten.size), 112},
		{"tensor.v2", unsafe.Offsetof(ten.v2), 120},
		{"scalar", unsafe.Sizeof(sc), unsafe.Sizeof(ten)},
		{"scalar.value", unsafe.Offsetof(sc.value), 8},
		{"param", unsafe.Sizeof(par), 160},
		{"param.name", unsafe.Offsetof(par.name), 8},
		{"param.tensor", unsafe.Offsetof(par.tensor), 16},
		{"op", unsafe.Sizeof(op), 80},
		{"op.name", unsafe.Offsetof(op.name), 8},
		{"op.pkg", unsafe.Offsetof(op.pkg), 16},
		{"op.op", unsafe.Offsetof(op.op), 24},
		{"op.nParams", unsafe.Offsetof(op.nParams), 32},
		{"op.params", unsafe.Offsetof(op.params), 40},
		{"op.nIn", unsafe.Offsetof(op.nIn), 48},
		{"op.in", unsafe.Offsetof(op.in), 56},
		{"op.nOut", unsafe.Offsetof(op.nOut), 64},
		{"op.out", unsafe.Offsetof(op.out), 72},
		{"config", unsafe.Sizeof(cfg), 16},
		{"config.custom", unsafe.Offsetof(cfg.custom), 8},
		{"HTP device.old", unsafe.Offsetof(dev.old), 4},
		{"HTP device.soc", unsafe.Offsetof(dev.soc), 8},
		{"HTP graph", unsafe.Sizeof(hg), 56},
		{"HTP graph.value", unsafe.Offsetof(hg.value), 8},
		{"IR graph.format", unsafe.Offsetof(ir.format), 8},
		{"IR graph.path", unsafe.Offsetof(ir.path), 16},
		{"op name", unsafe.Sizeof(cOpName{}), 24},
		{"memory", unsafe.Sizeof(mem), 48},
		{"memory.dims", unsafe.Offsetof(mem.dims), 8},
		{"memory.shape", unsafe.Offsetof(mem.shape), 16},
		{"memory.dtype", unsafe.Offsetof(mem.dtype), 24},
		{"memory.kind", unsafe.Offsetof(mem.kind), 28},
		{"memory.custom", unsafe.Offsetof(mem.custom), 32},
		{"HTP memory.size", unsafe.Offsetof(hm.size), 8},
		{"HTP memory.fd", unsafe.Offsetof(hm.fd), 16},
		{"HTP memory.offset", unsafe.Offsetof(hm.offset), 24},
		{"HTP memory", unsafe.Sizeof(hm), 32},
		{"binary info", unsafe.Sizeof(bin), 144},
		{"binary info.buildID", unsafe.Offsetof(bin.buildID), 16},
		{"binary info.core", unsafe.Offsetof(bin.core), 24},
		{"binary info.api", unsafe.Offsetof(bin.api), 36},
		{"binary info.socVersion", unsafe.Offsetof(bin.socVersion), 48},
		{"binary info.blob", unsafe.Offsetof(bin.blob), 56},
		{"binary info.blobSize", unsafe.Offsetof(bin.blobSize), 72},
		{"binary info.nTensors", unsafe.Offsetof(bin.nTensors), 80},
		{"binary info.nGraphs", unsafe.Offsetof(bin.nGraphs), 96},
		{"binary info.graphs", unsafe.Offsetof(bin.graphs), 104},
		{"binary info.metadataSize", unsafe.Offsetof(bin.metadataSize), 120},
		{"binary info.soc", unsafe.Offsetof(bin.soc), 136},
		{"graph info", unsafe.Sizeof(gi), 88},
		{"graph info.name", unsafe.Offsetof(gi.name), 8},
		{"graph info.in", unsafe.Offsetof(gi.in), 24},
		{"graph info.nOut", unsafe.Offsetof(gi.nOut), 32},
		{"graph info.out", unsafe.Offsetof(gi.out), 40},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, c.got, c.want)
		}
	}
}
