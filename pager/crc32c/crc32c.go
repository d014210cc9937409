// Package crc32c computes CRC-32C, the checksum of records, as hash/crc32 does with
// the Castagnoli polynomial, at the speed of memory: a run's readers share the cores
// with what computes, and each byte of an expert is checked.
package crc32c

import "hash/crc32"

var table = crc32.MakeTable(crc32.Castagnoli)

// block is what one step of fold takes.
const block = 256

// Checksum returns the CRC-32C of data.
func Checksum(data []byte) uint32 { return Update(0, data) }

// Update adds data to a checksum.
func Update(crc uint32, data []byte) uint32 {
	if n := len(data) &^ (block - 1); wide && n >= 2*block {
		crc, data = ^fold(^crc, data[:n]), data[n:] // the register is the complement
	}
	return crc32.Update(crc, table, data)
}

// A Sum is the checksum of what was written to it.
type Sum uint32

// Write implements io.Writer.
func (s *Sum) Write(p []byte) (int, error) {
	*s = Sum(Update(uint32(*s), p))
	return len(p), nil
}
