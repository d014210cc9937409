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

// func fold(register uint32, data []byte) uint32
TEXT ·fold(SB), 0, $256-36
	MOVL register+0(FP), AX
	MOVQ data_base+8(FP), SI
	MOVQ data_len+16(FP), CX
	VBROADCASTI32X4 by2048<>(SB), Z8
	VMOVD AX, X9 // and zeros
	VPXORQ (SI), Z9, Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3

loop:
	ADDQ $256, SI
	SUBQ $256, CX
	JZ   rest
	step(Z0, 0)
	step(Z1, 64)
	step(Z2, 128)
	step(Z3, 192)
	JMP  loop

	// 256 bytes are left that have the remainder of all.
rest:
	VMOVDQU64 Z0, (SP)
	VMOVDQU64 Z1, 64(SP)
	VMOVDQU64 Z2, 128(SP)
	VMOVDQU64 Z3, 192(SP)
	VZEROUPPER
	XORL AX, AX

word:
	CRC32Q (SP)(CX*8), AX
	INCQ CX
	CMPQ CX, $32
	JB   word
	MOVL AX, ret+32(FP)
	RET
