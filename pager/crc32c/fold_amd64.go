package crc32c

import "golang.org/x/sys/cpu"

var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ

// fold replaces rest by 256 bytes that have the same remainder as rest followed by
// data, a multiple of 256 bytes: V. Gopal et al., Fast CRC Computation for Generic
// Polynomials Using PCLMULQDQ Instruction, Intel 2009.
//
//go:noescape
func fold(rest *[block]byte, data []byte)
