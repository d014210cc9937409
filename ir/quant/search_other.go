//go:build !amd64 && !arm64

package quant

func improve(a [][lanes]float32, trial *[lanes]float64, f *found) { improvePlain(a, trial, f) }
