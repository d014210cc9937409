#include "textflag.h"

DATA one<>+0(SB)/4, $1.0
GLOBL one<>(SB), RODATA|NOPTR, $4
DATA seven<>+0(SB)/4, $7.0
GLOBL seven<>(SB), RODATA|NOPTR, $4

// SCALES loads a trial, a float64 for each lane.
#define SCALES(off, x, y) \
	VCVTPD2PSY  off(DX), x        \
	VCVTPD2PSY  (off+32)(DX), X15 \
	VINSERTF128 $1, X15, y, y

#define INVERSE(off, x, y) \
	SCALES(off, x, y)  \
	VDIVPS y, Y10, y

// TRY adds to sum the square of how far the weights Y12 over a scale are from their
// codes.
#define TRY(inv, sum, x, c) \
	VMULPS      inv, Y12, x  \
	VPMINUD     Y11, x, c    \
	VROUNDPS    $8, c, c     \
	VSUBPS      c, x, x      \
	VFMADD231PS x, x, sum

// ERROR makes a sum the error of a trial, and the least of Y10 and that.
#define ERROR(off, sum) \
	SCALES(off, X0, Y0)        \
	VMULPS  Y0, Y0, Y0         \
	VMULPS  Y0, sum, Y0        \
	VMINPS  Y10, Y0, Y10       \
	VMOVUPS Y0, (off/2)(R8)

// FIVE puts the errors of five trials at R8.
#define FIVE(loop) \
	VBROADCASTSS one<>(SB), Y10 \
	INVERSE(0, X0, Y0)          \
	INVERSE(64, X1, Y1)         \
	INVERSE(128, X2, Y2)        \
	INVERSE(192, X3, Y3)        \
	INVERSE(256, X4, Y4)        \
	VXORPS       Y5, Y5, Y5     \
	VXORPS       Y6, Y6, Y6     \
	VXORPS       Y7, Y7, Y7     \
	VXORPS       Y8, Y8, Y8     \
	VXORPS       Y9, Y9, Y9     \
	MOVQ         AX, SI         \
	MOVQ         CX, BX         \
loop:                           \
	VMOVUPS (SI), Y12           \
	TRY(Y0, Y5, Y13, Y14)       \
	TRY(Y1, Y6, Y15, Y10)       \
	TRY(Y2, Y7, Y13, Y14)       \
	TRY(Y3, Y8, Y15, Y10)       \
	TRY(Y4, Y9, Y13, Y14)       \
	ADDQ    $32, SI             \
	DECQ    BX                  \
	JNZ     loop                \
	VMOVUPS 320(SP), Y10        \
	ERROR(0, Y5)                \
	ERROR(64, Y6)               \
	ERROR(128, Y7)              \
	ERROR(192, Y8)              \
	ERROR(256, Y9)              \
	VMOVUPS Y10, 320(SP)

// func screenFMA(a [][lanes]float32, trials *[len(ratios)][lanes]float64, most *[lanes]float64, slack *[2]float32, near *[len(ratios)]uint8)
//
// The stack has the errors of ten trials, then the least of them.
TEXT ·screenFMA(SB), NOSPLIT, $352-56
	MOVQ         a_base+0(FP), AX
	MOVQ         a_len+8(FP), CX
	MOVQ         trials+24(FP), DX
	MOVQ         near+48(FP), DI
	MOVQ         SP, R8
	VBROADCASTSS seven<>(SB), Y11
	VPCMPEQD     Y10, Y10, Y10
	VPSRLD       $25, Y10, Y10
	VPSLLD       $24, Y10, Y10 // more than any error
	VMOVUPS      Y10, 320(SP)
	FIVE(first)
	ADDQ         $320, DX
	ADDQ         $160, R8
	FIVE(second)

	// The root of the least and its slack, squared: Y10.
	MOVQ         most+32(FP), DX
	SCALES(0, X0, Y0)
	MOVQ         slack+40(FP), SI
	VBROADCASTSS 4(SI), Y1
	VMULPS       Y1, Y0, Y0
	VSQRTPS      Y10, Y10
	VBROADCASTSS (SI), Y1
	VFMADD231PS  Y10, Y1, Y0
	VADDPS       Y0, Y10, Y10
	VMULPS       Y10, Y10, Y10
	MOVQ         SP, R8
	MOVQ         $10, CX

near:
	VMOVUPS   (R8), Y0
	VCMPPS    $18, Y10, Y0, Y0 // at most, false of NaN
	VMOVMSKPS Y0, AX
	MOVB      AX, (DI)
	ADDQ      $32, R8
	INCQ      DI
	DECQ      CX
	JNZ       near
	VZEROUPPER
	RET
