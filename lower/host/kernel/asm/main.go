// Command asm writes the assembly of package kernel and its Go declarations:
// run `go generate` in that package's folder. Standard library only.
//
// A file of kernels is one entry of files; how an instruction set is written
// stands in the file named for it. What cmd/asm does not know is emitted as bytes
// (amd64) or words (arm64) by an encoder.
//
// A new kernel of elements or rows: a function in vec_elements.go or vec_rows.go, its
// entry in vecKernels, its constant in package kernel's vec.go in the same place, and
// the method of Set that calls it, after plain Go; tests run it on every Set.
//
// A new instruction set: for rows, a machine beside vec_x86.go and vec_neon.go; for
// products, tile functions beside mul_avx512.go and float ones beside fma_x86_gemm.go;
// then its cases where package kernel chooses by kind (tile_ARCH.go, fma_set_ARCH.go)
// and its entry in Sets (set_ARCH.go), the fastest first. Tests find it there.
package main

import (
	"log"
	"os"
)

// files are what is written, NAME_ARCH.s and NAME_ARCH.go for each.
var files = []struct {
	name, arch string
	write      func(*source)
}{
	{"fma", "amd64", fmaAMD64},
	{"fma", "arm64", fmaARM64},
	{"mul", "amd64", mulAMD64},
	{"mul", "arm64", mulARM64},
	{"vec", "amd64", vecAMD64},
	{"vec", "arm64", vecARM64},
}

func main() {
	for _, f := range files {
		s := newSource(f.arch)
		f.write(s)
		for name, text := range map[string]string{".s": s.assembly(), ".go": s.declarations()} {
			if err := os.WriteFile(f.name+"_"+f.arch+name, []byte(text), 0o644); err != nil {
				log.Fatal(err)
			}
		}
	}
}
