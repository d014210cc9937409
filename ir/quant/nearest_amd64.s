#include "textflag.h"

DATA magnitude<>+0(SB)/4, $0x7fffffff
GLOBL magnitude<>(SB), RODATA|NOPTR, $4

// EIGHT makes eight weights codes of 16 bits, halves to even, cut off at what 16 bits hold.
#define EIGHT(off, x, y) \
	VCVTPS2PD  off(SI), y        \
	VCVTPS2PD  (off+16)(SI), Y5  \
	VMULPD     Y4, y, y          \
	VMULPD     Y4, Y5, Y5        \
	VCVTPD2DQY y, x              \
	VCVTPD2DQY Y5, X5            \
	VPACKSSDW  X5, x, x

// func nearestAVX(q []int8, w []float32, inv float64, top int8)
//
// As many codes as q has, a multiple of 32.
TEXT ·nearestAVX(SB), NOSPLIT, $0-57
	MOVQ         q_base+0(FP), DI
	MOVQ         q_len+8(FP), CX
	MOVQ         w_base+24(FP), SI
	VBROADCASTSD inv+48(FP), Y4
	VPBROADCASTB top+56(FP), X6
	VPXOR        X7, X7, X7
	VPSUBB       X6, X7, X7
	SHRQ         $5, CX
	JZ           done

loop:
	EIGHT(0, X0, Y0)
	EIGHT(32, X1, Y1)
	EIGHT(64, X2, Y2)
	EIGHT(96, X3, Y3)
	VPACKSSWB X1, X0, X0
	VPACKSSWB X3, X2, X2
	VPMINSB   X6, X0, X0
	VPMINSB   X6, X2, X2
	VPMAXSB   X7, X0, X0
	VPMAXSB   X7, X2, X2
	VMOVDQU   X0, (DI)
	VMOVDQU   X2, 16(DI)
	ADDQ      $32, DI
	ADDQ      $128, SI
	DECQ      CX
	JNZ       loop

done:
	VZEROUPPER
	RET

// func largestAVX(w []float32) uint32
//
// Of a multiple of 32 weights.
TEXT ·largestAVX(SB), NOSPLIT, $0-28
	MOVQ         w_base+0(FP), SI
	MOVQ         w_len+8(FP), CX
	VPBROADCASTD magnitude<>(SB), Y4
	VPXOR        Y5, Y5, Y5
	VPXOR        Y6, Y6, Y6
	SHRQ         $5, CX
	JZ           widest

more:
	VPAND   (SI), Y4, Y0
	VPAND   32(SI), Y4, Y1
	VPAND   64(SI), Y4, Y2
	VPAND   96(SI), Y4, Y3
	VPMAXUD Y0, Y5, Y5
	VPMAXUD Y1, Y6, Y6
	VPMAXUD Y2, Y5, Y5
	VPMAXUD Y3, Y6, Y6
	ADDQ    $128, SI
	DECQ    CX
	JNZ     more

widest:
	VPMAXUD      Y6, Y5, Y5
	VEXTRACTI128 $1, Y5, X6
	VPMAXUD      X6, X5, X5
	VPSHUFD      $0x4e, X5, X6
	VPMAXUD      X6, X5, X5
	VPSHUFD      $0xb1, X5, X6
	VPMAXUD      X6, X5, X5
	VMOVD        X5, AX
	MOVL         AX, ret+24(FP)
	VZEROUPPER
	RET
