package quant

import "golang.org/x/sys/cpu"

// improve is improvePlain.
func improve(a [][lanes]float64, trial *[lanes]float64, f *found) {
	if cpu.X86.HasFMA {
		improveFMA(a, trial, f)
	} else {
		improvePlain(a, trial, f)
	}
}

// improveFMA is improvePlain bit for bit.
//
//go:noescape
func improveFMA(a [][lanes]float64, trial *[lanes]float64, f *found)
