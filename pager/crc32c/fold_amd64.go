package crc32c

import "golang.org/x/sys/cpu"

var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42

// fold moves the register of a checksum over data, which is a multiple of 256 bytes and
// not empty: V. Gopal et al., Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction, Intel 2009.
//
//go:noescape
func fold(register uint32, data []byte) uint32
