package main

// mulARM64 writes the tile functions, what prepares for them, and the peaks.
func mulARM64(s *source) {
	for _, c := range []armCodes{w4Codes, w8Codes} {
		armTile{source: s, codes: c}.function("I8MM", 1, 6, func(t *armTile) armSums {
			if t.rows == 1 {
				return laneSums{rowSums{t, 0}, "USDOT"}
			}
			return matrixSums{t, "USMMLA"}
		})
		armTile{source: s, codes: c, signed: c == w8Codes}.function("DotProd", 1, 6, sdotSums)
		armTile{source: s, codes: c, signed: c == w8Codes}.function("Neon", 1, 2, func(t *armTile) armSums {
			return longSums{rowSums{t, 16}}
		})
		armUnpack{s, c, true}.function("I8MM")
		armUnpack{s, c, false}.function("DotProd")
	}
	unpacked := armTile{source: s, codes: unpackedCodes, signed: true}
	unpacked.function("I8MM", 3, 6, func(t *armTile) armSums { return matrixSums{t, "SMMLA"} })
	unpacked.function("DotProd", 3, 6, sdotSums)
	sumsNeon(s)
	pause(s, "YIELD")
	peakARM64(s, "I8MM", "USMMLA", func(sum int) { s.word("USMMLA", sum, 30, 31) })
	peakARM64(s, "DotProd", "SDOT", func(sum int) { s.laneWord("SDOT", sum, 30, 31, sum%4) })
	peakARM64(s, "Neon", "SMLAL", func(sum int) { s.word([]string{"SMLAL", "SMLAL2"}[sum%2], sum, 30, 31) })
}

func sdotSums(t *armTile) armSums { return laneSums{rowSums{t, 0}, "SDOT"} }

// armCodes is how codes stand in memory: as Packing says, or unpacked to bytes of
// q, [K/8][8 quads][32]: what step needs of a quad, four columns.
type armCodes int

const (
	w4Codes armCodes = iota
	w8Codes
	unpackedCodes
)

func (c armCodes) String() string { return []string{"W4", "W8", "Unpacked"}[c] }
