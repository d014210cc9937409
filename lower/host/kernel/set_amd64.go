package kernel

import "golang.org/x/sys/cpu"

// Sets returns what this processor can run, the fastest first.
func Sets() []*Set {
	x := &cpu.X86
	avx2 := x.HasAVX2 && x.HasFMA && x.HasF16C
	avx512 := avx2 && x.HasBMI2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512VL && x.HasAVX512DQ && x.HasAVX512VNNI
	var sets []*Set
	if avx512 && x.HasAVX512BF16 {
		sets = append(sets, &Set{
			name: "avx512",
			fma:  &fmaSet{kind: fmaAVX512, rows: 12, lanes: 16, masks: true, pairs: true},
			tile: &tileSet{kind: tileAVX512, rows: 6},
			vec:  &vecSet{lanes: lanesAVX512},
		})
	}
	if avx512 {
		sets = append(sets, &Set{
			name: "avx512vnni",
			fma:  &fmaSet{kind: fmaAVX512, rows: 12, lanes: 16, masks: true},
			tile: &tileSet{kind: tileAVX512, rows: 6},
			vec:  &vecSet{lanes: lanesAVX512},
		})
	}
	if avx2 {
		sets = append(sets, &Set{
			name: "avx2",
			fma:  &fmaSet{kind: fmaAVX2, rows: 6, lanes: 8},
			tile: &tileSet{kind: tileAVX2, rows: 4},
			vec:  &vecSet{lanes: lanesAVX2},
		})
	}
	return append(sets, &Set{})
}
