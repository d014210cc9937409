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

// func improveFMA(a [][lanes]float32, trial *[lanes]float64, f *found)
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
	VCVTPS2PD    (AX), Y11
	VCVTPS2PD    16(AX), Y12
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
	ADDQ         $32, AX
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

// What storable takes: half the unit of the last bit that is kept, less one; that
// bit, moved to the lowest; the largest; and what is cut off.
DATA storable<>+0(SB)/8, $0x1ffffffffff
DATA storable<>+8(SB)/8, $1
DATA storable<>+16(SB)/8, $0x47c2492480000000 // math.MaxFloat32/7
DATA storable<>+24(SB)/8, $0xfffffc0000000000
GLOBL storable<>(SB), RODATA|NOPTR, $32

#define STORABLE(y, t) \
	VPSRLQ $42, y, t \
	VPAND  Y13, t, t \
	VPADDQ Y12, y, y \
	VPADDQ t, y, y   \
	VMINPD Y14, y, y \
	VPAND  Y15, y, y

#define STORABLES \
	VPBROADCASTQ storable<>+0(SB), Y12  \
	VPBROADCASTQ storable<>+8(SB), Y13  \
	VPBROADCASTQ storable<>+16(SB), Y14 \
	VPBROADCASTQ storable<>+24(SB), Y15

// func quotientsAVX(scales, a, b *[lanes]float64)
TEXT ·quotientsAVX(SB), NOSPLIT, $0-24
	MOVQ    scales+0(FP), DI
	MOVQ    a+8(FP), SI
	MOVQ    b+16(FP), DX
	STORABLES
	VMOVUPD (SI), Y0
	VMOVUPD 32(SI), Y1
	VDIVPD  (DX), Y0, Y0
	VDIVPD  32(DX), Y1, Y1
	STORABLE(Y0, Y2)
	STORABLE(Y1, Y3)
	VMOVUPD Y0, (DI)
	VMOVUPD Y1, 32(DI)
	VZEROUPPER
	RET

// func trialsAVX(t *[len(ratios)][lanes]float64, most *[lanes]float64, ratios *[len(ratios)]float64)
TEXT ·trialsAVX(SB), NOSPLIT, $0-24
	MOVQ    t+0(FP), DI
	MOVQ    most+8(FP), SI
	MOVQ    ratios+16(FP), DX
	STORABLES
	VMOVUPD (SI), Y4
	VMOVUPD 32(SI), Y5
	MOVQ    $10, CX

ratio:
	VBROADCASTSD (DX), Y6
	VDIVPD       Y6, Y4, Y0
	VDIVPD       Y6, Y5, Y1
	STORABLE(Y0, Y2)
	STORABLE(Y1, Y3)
	VMOVUPD      Y0, (DI)
	VMOVUPD      Y1, 32(DI)
	ADDQ         $8, DX
	ADDQ         $64, DI
	DECQ         CX
	JNZ          ratio
	VZEROUPPER
	RET

DATA magnitude<>+0(SB)/4, $0x7fffffff
GLOBL magnitude<>(SB), RODATA|NOPTR, $4

// FOUR turns four weights of each of the eight groups into four rows of eight lanes.
#define FOUR(off) \
	VMOVUPS     off(SI), X0                 \
	VMOVUPS     off(SI)(R8*1), X1           \
	VMOVUPS     off(SI)(R8*2), X2           \
	VMOVUPS     off(SI)(R9*1), X3           \
	VINSERTF128 $1, off(R10), Y0, Y0        \
	VINSERTF128 $1, off(R10)(R8*1), Y1, Y1  \
	VINSERTF128 $1, off(R10)(R8*2), Y2, Y2  \
	VINSERTF128 $1, off(R10)(R9*1), Y3, Y3  \
	VUNPCKLPS   Y1, Y0, Y4                  \
	VUNPCKHPS   Y1, Y0, Y5                  \
	VUNPCKLPS   Y3, Y2, Y6                  \
	VUNPCKHPS   Y3, Y2, Y7                  \
	VUNPCKLPD   Y6, Y4, Y0                  \
	VUNPCKHPD   Y6, Y4, Y1                  \
	VUNPCKLPD   Y7, Y5, Y2                  \
	VUNPCKHPD   Y7, Y5, Y3                  \
	VANDPS      Y15, Y0, Y0                 \
	VANDPS      Y15, Y1, Y1                 \
	VANDPS      Y15, Y2, Y2                 \
	VANDPS      Y15, Y3, Y3                 \
	VPMAXUD     Y0, Y14, Y14                \
	VPMAXUD     Y1, Y13, Y13                \
	VPMAXUD     Y2, Y14, Y14                \
	VPMAXUD     Y3, Y13, Y13                \
	VMOVUPS     Y0, (8*off)(DI)             \
	VMOVUPS     Y1, (8*off+32)(DI)          \
	VMOVUPS     Y2, (8*off+64)(DI)          \
	VMOVUPS     Y3, (8*off+96)(DI)

// func magnitudesAVX(a [][lanes]float32, w []float32, most *[lanes]uint32)
//
// Group 0 begins at SI, group 4 at R10; R8 is the length of one in bytes, R9 of three.
TEXT ·magnitudesAVX(SB), NOSPLIT, $0-56
	MOVQ         a_base+0(FP), DI
	MOVQ         a_len+8(FP), CX
	MOVQ         w_base+24(FP), SI
	MOVQ         most+48(FP), DX
	VPBROADCASTD magnitude<>(SB), Y15
	VPXOR        Y13, Y13, Y13
	VPXOR        Y14, Y14, Y14
	LEAQ         (CX*4), R8
	LEAQ         (R8)(R8*2), R9
	LEAQ         (SI)(R8*4), R10
	SHRQ         $3, CX
	JZ           turned

turn:
	FOUR(0)
	FOUR(16)
	ADDQ $32, SI
	ADDQ $32, R10
	ADDQ $256, DI
	DECQ CX
	JNZ  turn

turned:
	VPMAXUD Y13, Y14, Y14
	VMOVDQU Y14, (DX)
	VZEROUPPER
	RET
