package cli_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/native"
)

// archive writes a zip of files, of each its name and its text.
func archive(t *testing.T, files ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.dlc")
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		require.NoError(t, err)
		_, err = w.Write([]byte(files[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	return path
}

// Files that QNN's libraries make are shown; others are no packages still.
func TestQNNInspect(t *testing.T) {
	const metadata = `{"header": {"timestamp": "2026-01-02 03:04:05 UTC"}, "dlcGenerationInfo": [{"converterCommand": {"tool": "a-tool", "converterVersion": "2.47.0.260601114230"}}]}`
	dlc := archive(t, "dlc.metadata2.2.0", metadata)
	require.Equal(t, "dlc       287 B, by a-tool of QAIRT 2.47.0.260601114230, 2026-01-02 03:04:05 UTC\npart      dlc.metadata2.2.0: 160 B\n", ok(t, "inspect", dlc).out)
	require.Contains(t, ok(t, "inspect", "--json", dlc).out, `"tool":"a-tool"`)
	old := archive(t, "dlc.metadata", "converter-command=a-converter --input x=1\nconverter-version=2.22.6\n")
	require.Equal(t, "dlc       196 B, by a-converter of QAIRT 2.22.6\npart      dlc.metadata: 67 B\n", ok(t, "inspect", old).out)
	other := archive(t, "model", "\xd5\x0a\x03\x00", "dlc.metadata", "")
	require.Contains(t, ok(t, "inspect", other).out, ", by an unnamed tool of QAIRT unknown\npart      model: 4 B\npart      dlc.metadata: 0 B\ngraphs    not shown: the part begins with ")
	require.Contains(t, ok(t, "inspect", "--json", other).out, `"graphs":[],"parts":[{"name":"model","bytes":4},`)
	r := run("inspect", "--ir", dlc)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.errors, "--ir is of packages, and "+dlc+" is a DLC: leave it out")
	broken := archive(t, "dlc.metadata2.2.0", "{")
	cut := filepath.Join(t.TempDir(), "cut")
	require.NoError(t, os.WriteFile(cut, []byte("PK\x03\x04 and so on"), 0o666))
	binary := filepath.Join(t.TempDir(), "binary")
	require.NoError(t, os.WriteFile(binary, []byte("\x00\x00\x00\x02\x00\x00\x00\x03"), 0o666))
	t.Setenv("ESTREAM_QNN_LIBS", t.TempDir()+"/none")
	for path, want := range map[string]string{
		broken:                       "dlc.metadata2.2.0: unexpected end of JSON input",
		cut:                          "a DLC, or another archive, that is cut or damaged: zip: not a valid zip file",
		binary:                       "a context binary, which QNN's own library reads: no library of QNN in ",
		archive(t, "notes.txt", "x"): "is a file, and a package is a directory",
		archive(t, "model", "\xd5\x0a\x04\x00", "dlc.metadata", ""): "model: damaged: nothing of a graph can stand at 8 of 8 bytes",
	} {
		r := run("inspect", path)
		require.Equal(t, 1, r.code)
		require.Contains(t, r.errors, want)
	}
}

func TestQNNInspectMade(t *testing.T) {
	qnnLibrary(t, "libQnnIr.so")
	path := filepath.Join(t.TempDir(), "made.dlc")
	f32 := func(name string, kind native.Kind) native.Tensor {
		return native.Tensor{Name: name, Kind: kind, Type: native.Float32, Dims: []int{2, 3}}
	}
	job := &native.Job{
		Library: filepath.Join(os.Getenv("ESTREAM_QNN_LIBS"), "libQnnIr.so"), Options: native.GraphOptions{DLC: path},
		Graphs: []native.Desc{{
			Name: "g", Tensors: []native.Tensor{f32("x", native.AppWrite), f32("y", native.AppRead)},
			Nodes: []native.Node{{Name: "n", Op: "ElementWiseAdd", In: []string{"x", "x"}, Out: []string{"y"}}},
		}},
	}
	_, err := native.Child{Command: []string{os.Args[0], "qnn-child"}}.Run(t.Context(), job)
	require.NoError(t, err)
	require.Regexp(t, `^dlc +[\d.]+ KiB, by \S+ of QAIRT 2\.\d+\S+, 20\d\d-`, ok(t, "inspect", path).out)
	require.Regexp(t, `\ngraph +g: 1 inputs, 1 outputs\n  input +x f32\[2 3\]\n  output +y f32\[2 3\]\n$`, ok(t, "inspect", "--records", path).out)
	require.Contains(t, ok(t, "inspect", "--json", path).out, `"graphs":[{"name":"g","inputs":[{"name":"x","type":"f32","dims":[2,3]}],`)

	dir := filepath.Join(t.TempDir(), "p")
	ok(t, "pack", "--backend", "qnn-htp", "--encoding", "f32", tiny, dir)
	ok(t, "prepare", "--soc", "v79", dir)
	files, err := filepath.Glob(filepath.Join(dir, "qnn-htp.v79.*.bin"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	out := ok(t, "inspect", "--records", files[0]).out
	require.Regexp(t, `^binary +[\d.]+ MiB, for SM8750 \(v79\), by QAIRT 2\.\d+\S+, core API 2\.\d+\.\d+\n`, out)
	require.Regexp(t, `\ngraph +expert0@R4#[0-9a-f]{8}: `, out)
	require.Regexp(t, `  input +expert.gate.weight f32\[32 64\]`, out)

	whole, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for i := range whole[64:4096] { // on which the library may crash, in its own process
		whole[64+i] ^= byte(i)
	}
	damaged := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.WriteFile(damaged, whole, 0o666))
	r := run("inspect", damaged)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.errors, "it is damaged, or of a later QAIRT: ")
}
