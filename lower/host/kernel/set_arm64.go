package kernel

import "golang.org/x/sys/cpu"

// Sets returns what this processor can run, the fastest first.
func Sets() []*Set {
	var sets []*Set
	if cpu.ARM64.HasI8MM {
		sets = append(sets, &Set{
			name: "i8mm",
			fma:  &fmaSet{rows: 6, lanes: 4},
			tile: &tileSet{kind: tileI8MM, rows: tileRowsMax},
			vec:  &vecSet{lanes: lanesNEON},
		})
	}
	if cpu.ARM64.HasASIMDDP {
		sets = append(sets, &Set{
			name: "dotprod",
			fma:  &fmaSet{rows: 6, lanes: 4},
			tile: &tileSet{kind: tileDotProd, rows: tileRowsMax},
			vec:  &vecSet{lanes: lanesNEON},
		})
	}
	sets = append(sets, &Set{
		name: "neon",
		fma:  &fmaSet{rows: 6, lanes: 4},
		tile: &tileSet{kind: tileNeon, rows: 2},
		vec:  &vecSet{lanes: lanesNEON},
	})
	return append(sets, &Set{})
}
