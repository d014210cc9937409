package quant

// improve is improvePlain, bit for bit.
//
//go:noescape
func improve(a [][lanes]float32, trial *[lanes]float64, f *found)
