//go:build !amd64 && !arm64

package kernel

// There is no fmaSet here.

func (f *fmaSet) gemm(*gemm)                                              {}
func (f *fmaSet) weigh(*weigh)                                            {}
func (f *fmaSet) packKeys(*rowPanel)                                      {}
func (f *fmaSet) packValues(*rowPanel)                                    {}
func (f *fmaSet) scale(dst, src []float32, _ float32, _ bool, _ *float32) {}
func (f *fmaSet) peakFMA(int) int                                         { return 0 }
func (f *fmaSet) peakPairs(int) int                                       { return 0 }
