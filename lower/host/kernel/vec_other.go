//go:build !amd64 && !arm64

package kernel

// run is never called: no Set has a vecSet.
func (v *vecSet) run(vecKernel, *vecArgs) {}
