#include "textflag.h"

DATA one<>+0(SB)/8, $1.0
GLOBL one<>(SB), RODATA|NOPTR, $8
DATA seven<>+0(SB)/8, $7.0
GLOBL seven<>(SB), RODATA|NOPTR, $8

// KEEP stores y where mask is set, through Y15.
#define KEEP(y, mask, at) \
	VMOVUPD   at, Y15           \
	VBLENDVPD mask, y, Y15, Y15 \
	VMOVUPD   Y15, at

// func improveFMA(a [][lanes]float64, trial *[lanes]float64, f *found)
//
// Four lanes in each of two registers: scales Y0 Y1, their inverses Y2 Y3, seven
// Y4, errors Y5 Y6, ab Y7 Y8, bb Y9 Y10; weights Y11 Y12, codes Y13 Y14.
TEXT ·improveFMA(SB), NOSPLIT, $0-40
	MOVQ         a_base+0(FP), AX
	MOVQ         a_len+8(FP), CX
	MOVQ         trial+24(FP), DX
	MOVQ         f+32(FP), DI
	VMOVUPD      (DX), Y0
	VMOVUPD      32(DX), Y1
	VBROADCASTSD one<>(SB), Y4
	VDIVPD       Y0, Y4, Y2
	VDIVPD       Y1, Y4, Y3
	VBROADCASTSD seven<>(SB), Y4
	VXORPD       Y5, Y5, Y5
	VXORPD       Y6, Y6, Y6
	VXORPD       Y7, Y7, Y7
	VXORPD       Y8, Y8, Y8
	VXORPD       Y9, Y9, Y9
	VXORPD       Y10, Y10, Y10
	TESTQ        CX, CX
	JZ           done

loop:
	VMOVUPD      (AX), Y11
	VMOVUPD      32(AX), Y12
	VMULPD       Y2, Y11, Y13
	VMULPD       Y3, Y12, Y14
	VMINPD       Y4, Y13, Y13
	VMINPD       Y4, Y14, Y14
	VROUNDPD     $8, Y13, Y13 // to nearest, halves to even
	VROUNDPD     $8, Y14, Y14
	VFMADD231PD  Y11, Y13, Y7
	VFMADD231PD  Y12, Y14, Y8
	VFMADD231PD  Y13, Y13, Y9
	VFMADD231PD  Y14, Y14, Y10
	VFNMADD231PD Y0, Y13, Y11 // what is left of the weight
	VFNMADD231PD Y1, Y14, Y12
	VMULPD       Y11, Y11, Y11
	VMULPD       Y12, Y12, Y12
	VADDPD       Y11, Y5, Y5
	VADDPD       Y12, Y6, Y6
	ADDQ         $64, AX
	DECQ         CX
	JNZ          loop

done:
	VCMPPD $17, 64(DI), Y5, Y2 // less, false of NaN
	VCMPPD $17, 96(DI), Y6, Y3
	KEEP(Y0, Y2, (DI))
	KEEP(Y1, Y3, 32(DI))
	KEEP(Y5, Y2, 64(DI))
	KEEP(Y6, Y3, 96(DI))
	KEEP(Y7, Y2, 128(DI))
	KEEP(Y8, Y3, 160(DI))
	KEEP(Y9, Y2, 192(DI))
	KEEP(Y10, Y3, 224(DI))
	VZEROUPPER
	RET
