package estream_test

import (
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages from the lowest up. A package imports packages of
// lower layers only, or of its own where the entry ends in /.
var layers = []string{
	"ir", "ir/quant", "ir/interp",
	"lower", "pager/crc32c",
	"pager/layout",
	"passes", "pager", "pager/simulate", "models/checkpoint", "models/checkpoint/gguf", "models", "models/",
	"lower/host/kernel/asm", "lower/host/kernel", "lower/static", "lower/qnn/native", "lower/qnn/find", "lower/qnn", "lower/host",
	"runtime/tokenizer", "runtime/chat", "runtime", "runtime/planner",
	"tools/pack", "tools/synth", "tools/check", "tools/quality", "tools/energy", "tools/trace", "tools/export", "tools/weights", "tools/diff", "tools/device", "tools/calibrate", "tools/prepare", "tools/doctor", "tools/bench", "tools/page", "tools/cli", "tools/estream",
}

// testOnly packages are imported by tests alone, and may import up to runtime.
var testOnly = []string{"lower/lowertest", "pager/pagertest", "models/checkpoint/checkpointtest", "tools/device/devicetest", "lower/qnn/find/findtest"}

// families are imported by models/all and tools alone.
func isFamily(pkg string) bool {
	return strings.HasPrefix(pkg, "models/") && pkg != "models/all" && !strings.HasPrefix(pkg, "models/checkpoint") && !slices.Contains(testOnly, pkg)
}

func TestLayering(t *testing.T) {
	for pkg, imports := range packages(t) {
		if slices.Contains(testOnly, pkg) || pkg == "" || pkg == "pager/layout/fb" {
			continue
		}
		if layer(pkg) < 0 {
			t.Errorf("package %s stands in no layer: add it to the list", pkg)
			continue
		}
		for _, imp := range imports {
			switch {
			case slices.Contains(testOnly, imp):
				t.Errorf("%s imports %s, which is for tests", pkg, imp)
			case isFamily(imp) && pkg != "models/all" && !strings.HasPrefix(pkg, "tools/"):
				t.Errorf("%s imports the family %s: only models/all and tools may", pkg, imp)
			case isFamily(pkg) && imp != "ir" && imp != "models":
				t.Errorf("family %s imports %s: ir and models only", pkg, imp)
			case imp == "pager/layout/fb" && pkg == "pager/layout":
			case layer(imp) > layer(pkg) || layer(imp) == layer(pkg) && !strings.HasSuffix(layers[layer(pkg)], "/"):
				t.Errorf("%s imports %s, which stands above it", pkg, imp)
			}
		}
	}
}

func layer(pkg string) int {
	if i := slices.Index(layers, pkg); i >= 0 {
		return i
	}
	return slices.IndexFunc(layers, func(l string) bool { return strings.HasSuffix(l, "/") && strings.HasPrefix(pkg, l) })
}

// packages returns the packages of the module and what of it each imports,
// tests apart.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || strings.HasPrefix(name, ".") && path != "." {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "." {
			return filepath.SkipDir // a module of its own
		}
		p, err := build.ImportDir(path, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		if err != nil {
			return err
		}
		var imports []string
		for _, imp := range p.Imports {
			if own, ok := strings.CutPrefix(imp, "estream/"); ok {
				imports = append(imports, own)
			}
		}
		found[strings.TrimPrefix(filepath.ToSlash(path), ".")] = imports
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSources holds every hand-written Go file to the rules that a program can check.
func TestSources(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checkSource(t, filepath.ToSlash(path), string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unsafeFiles are where unsafe may be imported, and the folder of a C library's binding.
var unsafeFiles = []string{"lower/view.go", "pager/pages.go", "lower/qnn/native/"}

func mayBeUnsafe(path string) bool {
	return slices.ContainsFunc(unsafeFiles, func(f string) bool { return path == f || strings.HasSuffix(f, "/") && strings.HasPrefix(path, f) })
}

func checkSource(t *testing.T, path, text string) {
	if strings.HasPrefix(text, "// Code generated") {
		return
	}
	if n := strings.Count(text, "\n"); n > 600 {
		t.Errorf("%s has %d lines, 600 is the ceiling", path, n)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "func init()") {
			t.Errorf("%s: init: families, ops and the like are values in one explicit list", path)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range f.Imports {
		if imp.Path.Value == `"unsafe"` && !mayBeUnsafe(path) && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s imports unsafe: only %v may", path, unsafeFiles)
		}
	}
}
