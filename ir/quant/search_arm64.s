#include "textflag.h"

// What the assembler does not know, of two float64 each: d = n op m.
#define FADD2(m, n, d) WORD $(0x4e60d400 | m<<16 | n<<5 | d)
#define FMUL2(m, n, d) WORD $(0x6e60dc00 | m<<16 | n<<5 | d)
#define FDIV2(m, n, d) WORD $(0x6e60fc00 | m<<16 | n<<5 | d)
#define FMIN2(m, n, d) WORD $(0x4ee0f400 | m<<16 | n<<5 | d)
#define FCMGT2(m, n, d) WORD $(0x6ee0e400 | m<<16 | n<<5 | d)
#define FRINTN2(n, d) WORD $(0x4e618800 | n<<5 | d) // to nearest, halves to even
#define FCVTL2(n, d) WORD $(0x0e617800 | n<<5 | d)  // of two float32

// KEEP stores v where V9 is set, and goes on to the next of found's arrays.
#define KEEP(v) \
	VLD1 (R7), [V10.D2]      \
	VBIT V9.B16, v, V10.B16  \
	VST1 [V10.D2], (R7)      \
	ADD  $64, R7

// func improve(a [][lanes]float32, trial *[lanes]float64, f *found)
//
// Two lanes at a time: scale V0, its inverse V1, weights V2, codes V3, error V4, ab
// V5, bb V6, one V7, seven V8.
TEXT ·improve(SB), NOSPLIT, $0-40
	MOVD  a_base+0(FP), R0
	MOVD  a_len+8(FP), R1
	MOVD  trial+24(FP), R2
	MOVD  f+32(FP), R3
	MOVD  $4, R4 // pairs of lanes to do
	FMOVD $1.0, F7
	VDUP  V7.D[0], V7.D2
	FMOVD $7.0, F8
	VDUP  V8.D[0], V8.D2

pair:
	VLD1.P 16(R2), [V0.D2]
	FDIV2(0, 7, 1)
	VEOR   V4.B16, V4.B16, V4.B16
	VEOR   V5.B16, V5.B16, V5.B16
	VEOR   V6.B16, V6.B16, V6.B16
	MOVD   R0, R5
	MOVD   R1, R6
	CBZ    R6, done

loop:
	VLD1  (R5), [V2.S2]
	FCVTL2(2, 2)
	FMUL2(1, 2, 3)
	FMIN2(8, 3, 3)
	FRINTN2(3, 3)
	VFMLA V3.D2, V2.D2, V5.D2
	VFMLA V3.D2, V3.D2, V6.D2
	VFMLS V3.D2, V0.D2, V2.D2 // what is left of the weight
	FMUL2(2, 2, 2)
	FADD2(2, 4, 4)
	ADD   $32, R5
	SUB   $1, R6
	CBNZ  R6, loop

done:
	ADD  $64, R3, R7
	VLD1 (R7), [V9.D2]
	FCMGT2(4, 9, 9) // less, false of NaN
	MOVD R3, R7
	KEEP(V0.B16)
	KEEP(V4.B16)
	KEEP(V5.B16)
	KEEP(V6.B16)
	ADD  $8, R0
	ADD  $16, R3
	SUB  $1, R4
	CBNZ R4, pair
	RET
