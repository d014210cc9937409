#include "textflag.h"

// x^(2048+32) and x^(2048-32) modulo the polynomial, bits reversed, times x.
DATA by2048<>+0(SB)/8, $0xdcb17aa4
DATA by2048<>+8(SB)/8, $0xb9e02b86
GLOBL by2048<>(SB), RODATA|NOPTR, $16

// step moves 64 bytes on by 2048 bits and adds those at off(SI).
#define step(z, off) \
	VPCLMULQDQ $0x00, Z8, z, Z9 \
	VPCLMULQDQ $0x11, Z8, z, z  \
	VPTERNLOGQ $0x96, off(SI), Z9, z

// func fold(rest *[256]byte, data []byte)
TEXT ·fold(SB), NOSPLIT, $0-32
	MOVQ rest+0(FP), DI
	MOVQ data_base+8(FP), SI
	MOVQ data_len+16(FP), CX
	VBROADCASTI32X4 by2048<>(SB), Z8
	VMOVDQU64 (DI), Z0
	VMOVDQU64 64(DI), Z1
	VMOVDQU64 128(DI), Z2
	VMOVDQU64 192(DI), Z3

loop:
	step(Z0, 0)
	step(Z1, 64)
	step(Z2, 128)
	step(Z3, 192)
	ADDQ $256, SI
	SUBQ $256, CX
	JNZ  loop

	VMOVDQU64 Z0, (DI)
	VMOVDQU64 Z1, 64(DI)
	VMOVDQU64 Z2, 128(DI)
	VMOVDQU64 Z3, 192(DI)
	VZEROUPPER
	RET
