package main

import "fmt"

// An armUnpack writes the function that unpacks codes for the tile functions of
// unpackedCodes. paired puts the 8 codes of a column together, for matrixSums.
//
//	R0 dst  R1 codes  R2 blocks of 128 bytes left
//	V30 the mask, V31 the zero point of w4
type armUnpack struct {
	*source
	codes  armCodes
	paired bool
}

func (u armUnpack) function(set string) {
	u.source.function(fmt.Sprint("unpack", u.codes, set), "unpacks blocks of 128 bytes of a panel.", param{"dst", "*byte"}, param{"codes", "*byte"}, param{"blocks", "int"})
	u.op("MOVD dst+0(FP), R0")
	u.op("MOVD codes+8(FP), R1")
	u.op("MOVD blocks+16(FP), R2")
	if u.codes == w4Codes {
		u.op("VMOVI $15, V30.B16")
		u.op("VMOVI $8, V31.B16")
		u.label("step")
		u.step(1)
		u.op("SUBS $1, R2")
		u.op("BNE %s", u.at("step"))
		u.op("RET")
		return
	}
	u.op("VMOVI $128, V30.B16")
	u.op("SUBS $2, R2")
	u.op("BLT %s", u.at("last"))
	u.label("step")
	u.step(2)
	u.op("SUBS $2, R2")
	u.op("BGE %s", u.at("step"))
	u.label("last")
	u.op("TBZ $0, R2, %s", u.at("done"))
	u.step(1)
	u.label("done")
	u.op("RET")
}

// step unpacks 8 k of the panel, or of w8 the last 4, to 256 bytes.
func (u armUnpack) step(blocks int) {
	for q := range 8 {
		first, second, free := 4*(q%4), 4*(q%4)+1, 4*(q%4)+2
		u.op("FMOVQ %d(R1), F%d", 16*q, first)
		switch {
		case u.codes == w4Codes:
			u.op("VUSHR $4, V%d.B16, V%d.B16", first, second)
			u.op("VAND V30.B16, V%d.B16, V%d.B16", first, first)
			u.op("VSUB V31.B16, V%d.B16, V%d.B16", first, first)
			u.op("VSUB V31.B16, V%d.B16, V%d.B16", second, second)
		case blocks == 2:
			u.op("FMOVQ %d(R1), F%d", 128+16*q, second)
			u.op("VEOR V30.B16, V%d.B16, V%d.B16", first, first)
			u.op("VEOR V30.B16, V%d.B16, V%d.B16", second, second)
		default:
			u.op("VEOR V30.B16, V%d.B16, V%d.B16", first, first)
			u.op("VEOR V%d.B16, V%d.B16, V%d.B16", second, second, second)
		}
		if u.paired {
			u.op("VZIP1 V%d.S4, V%d.S4, V%d.S4", second, first, free)
			u.op("VZIP2 V%d.S4, V%d.S4, V%d.S4", second, first, second)
			first = free
		}
		u.op("FSTPQ (F%d, F%d), %d(R0)", first, second, 32*q)
	}
	u.op("ADD $%d, R1", 128*blocks)
	u.op("ADD $256, R0")
}
