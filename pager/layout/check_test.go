package layout

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckErrors(t *testing.T) {
	nan := float32(math.NaN())
	inf := float32(math.Inf(-1))
	for _, c := range []struct {
		name  string
		spoil func(*Manifest)
		want  string
	}{
		{"newer", func(m *Manifest) { m.Version = 3 },
			"model.fb: version: made by a newer estream, format 3; this one reads 2"},
		{"older", func(m *Manifest) { m.Version = 1 },
			"model.fb: version: made by an older estream, format 1; this one reads 2: pack the checkpoint again"},
		{"no version", func(m *Manifest) { m.Version = 0 },
			"model.fb: version: there is no format 0"},
		{"negative version", func(m *Manifest) { m.Version = -1 },
			"model.fb: version: there is no format -1"},

		{"align zero", func(m *Manifest) { m.Align = 0 },
			"model.fb: align: 0 is not a power of two from 4096 to 16777216"},
		{"align odd", func(m *Manifest) { m.Align = 12288 },
			"model.fb: align: 12288 is not a power of two from 4096 to 16777216"},
		{"align negative", func(m *Manifest) { m.Align = math.MinInt64 },
			"model.fb: align: -9223372036854775808 is not a power of two from 4096 to 16777216"},
		{"align small", func(m *Manifest) { m.Align = 2048 },
			"model.fb: align: 2048 is not a power of two from 4096 to 16777216"},
		{"align huge", func(m *Manifest) { m.Align = 1 << 40 },
			"model.fb: align: 1099511627776 is not a power of two from 4096 to 16777216"},

		{"no files", func(m *Manifest) { m.Files = nil },
			"model.fb: files: experts.bin is not among them"},
		{"no dense file", func(m *Manifest) { m.Files = m.Files[1:] },
			"model.fb: files: dense.bin is not among them"},
		{"file twice", func(m *Manifest) { m.Files[3].Name = "programs.bin" },
			`model.fb: file "programs.bin": is there twice`},
		{"file size negative", func(m *Manifest) { m.Files[2].Size = -1 },
			"programs.bin: size -1 is impossible"},
		{"file size huge", func(m *Manifest) { m.Files[2].Size = math.MaxInt64 },
			"programs.bin: size 9223372036854775807 is impossible"},
		{"file is the manifest", func(m *Manifest) { m.Files[2].Name = "model.fb" },
			`model.fb: file "model.fb": is the manifest itself`},
		{"file above", func(m *Manifest) { m.Files[2].Name = ".." },
			`model.fb: file "..": is not the plain name of a file in the package`},
		{"file here", func(m *Manifest) { m.Files[2].Name = "." },
			`model.fb: file ".": is not the plain name of a file in the package`},
		{"file nameless", func(m *Manifest) { m.Files[2].Name = "" },
			`model.fb: file "": is not the plain name of a file in the package`},
		{"file elsewhere", func(m *Manifest) { m.Files[2].Name = "../x" },
			`model.fb: file "../x": is not the plain name of a file in the package`},
		{"file absolute", func(m *Manifest) { m.Files[2].Name = "/etc/passwd" },
			`model.fb: file "/etc/passwd": is not the plain name of a file in the package`},
		{"file elsewhere on Windows", func(m *Manifest) { m.Files[2].Name = `..\x` },
			`model.fb: file "..\\x": is not the plain name of a file in the package`},
		{"file on a drive", func(m *Manifest) { m.Files[2].Name = "C:x" },
			`model.fb: file "C:x": is not the plain name of a file in the package`},
		{"file with a zero", func(m *Manifest) { m.Files[2].Name = "a\x00b" },
			`model.fb: file "a\x00b": is not the plain name of a file in the package`},

		{"expert length zero", func(m *Manifest) { m.Experts[1].Length = 0 },
			"experts.bin: layer 0 expert 1: length 0 is impossible"},
		{"expert length negative", func(m *Manifest) { m.Experts[1].Length = -5 },
			"experts.bin: layer 0 expert 1: length -5 is impossible"},
		{"expert length overflows", func(m *Manifest) { m.Experts[1].Length = math.MaxInt64 },
			"experts.bin: layer 0 expert 1: 9223372036854775807 bytes at offset 8192 run past the end of the file, 16384"},
		{"expert offset negative", func(m *Manifest) { m.Experts[1].Offset = -4096 },
			"experts.bin: layer 0 expert 1: offset -4096 is impossible"},
		{"expert offset unaligned", func(m *Manifest) { m.Experts[1].Offset = 8200 },
			"experts.bin: layer 0 expert 1: offset 8200 is not a multiple of 4096"},
		{"expert offset past the end", func(m *Manifest) { m.Experts[1].Offset = 1 << 62 },
			"experts.bin: layer 0 expert 1: 1 bytes at offset 4611686018427387904 run past the end of the file, 16384"},
		{"file cut and signed again", func(m *Manifest) { m.Files[1].Size = 16000 },
			"experts.bin: layer 1 expert 0: 4096 bytes at offset 12288 run past the end of the file, 16000"},
		{"padding past the end", func(m *Manifest) { m.Files[1].Size = 16000; m.Experts[2].Length = 10 },
			"experts.bin: layer 1 expert 0: 10 bytes at offset 12288, rounded up to 4096, run past the end of the file, 16000"},
		{"experts overlap", func(m *Manifest) { m.Experts[1].Offset = 4096 },
			"experts.bin: layer 0 expert 1: offset 4096 overlaps layer 0 expert 0, which ends at 8192"},
		{"experts share a record", func(m *Manifest) { m.Experts[2].Offset = 0 },
			"experts.bin: layer 1 expert 0: offset 0 overlaps layer 0 expert 0, which ends at 8192"},
		{"expert twice", func(m *Manifest) { m.Experts[1].Index = 0 },
			"experts.bin: layer 0 expert 0: is there twice"},
		{"experts unsorted", func(m *Manifest) { m.Experts[0].Layer = 1; m.Experts[0].Index = 1 },
			"experts.bin: layer 0 expert 1: comes after layer 1 expert 1: records ascend by layer, then index"},
		{"expert layer negative", func(m *Manifest) { m.Experts[0].Layer = -1 },
			"experts.bin: layer -1 expert 0: layer or index is impossible"},
		{"expert of no layer", func(m *Manifest) { m.Experts[2].Layer = 2 },
			"experts.bin: layer 2 expert 0: there are 2 layers"},
		{"factor NaN", func(m *Manifest) { m.Experts[0].Factors[1] = nan },
			"experts.bin: layer 0 expert 0: factor 1 is NaN"},
		{"factor infinite", func(m *Manifest) { m.Dense[0].Factors[0] = inf },
			"dense.bin: layer 0 dense 0: factor 0 is -Inf"},
		{"factor zero", func(m *Manifest) { m.Experts[0].Factors[2] = 0 },
			"experts.bin: layer 0 expert 0: factor 2 is 0"},

		{"dense length negative", func(m *Manifest) { m.Dense[3].Length = -1 },
			"dense.bin: layer 2 dense 1: length -1 is impossible"},
		{"dense twice", func(m *Manifest) { m.Dense[3].Index = 0 },
			"dense.bin: layer 2 dense 0: is there twice"},
		{"layer absent", func(m *Manifest) { m.Dense = append(m.Dense[:1], m.Dense[2:]...) },
			"dense.bin: layer 2 dense 0: stands where layer 1 dense 0 belongs"},
		{"two of a layer", func(m *Manifest) { m.Dense[1] = m.Dense[0]; m.Dense[1].Index = 1 },
			"dense.bin: layer 0 dense 1: stands where layer 1 dense 0 belongs"},
		{"head run absent", func(m *Manifest) { m.Dense[3].Index = 2 },
			"dense.bin: layer 2 dense 2: stands where layer 2 dense 1 belongs"},
		{"dense overlap", func(m *Manifest) { m.Dense[0].Length = 4097 },
			"dense.bin: layer 1 dense 0: offset 4096 overlaps layer 0 dense 0, which ends at 8192"},

		{"region nameless", func(m *Manifest) { m.Rows[0].Name = "" },
			`dense.bin: rows "": has no name`},
		{"region twice", func(m *Manifest) { m.Rows = append(m.Rows, m.Rows[0]) },
			`dense.bin: rows "embed": is there twice`},
		{"region over records", func(m *Manifest) { m.Rows[0].Offset = 12288 },
			`dense.bin: rows "embed": offset 12288 overlaps layer 2 dense 1, which ends at 16384`},
		{"regions overlap", func(m *Manifest) { m.Rows = append(m.Rows, m.Rows[0]); m.Rows[1].Name = "pos" },
			`dense.bin: rows "pos": offset 16384 overlaps rows "embed", which ends at 77824`},
		{"region unaligned", func(m *Manifest) { m.Rows[0].Offset = 16385 },
			`dense.bin: rows "embed": offset 16385 is not a multiple of 4096`},
		{"region past the end", func(m *Manifest) { m.Rows[0].Offset = 20480 },
			`dense.bin: rows "embed": 60000 bytes at offset 20480 run past the end of the file, 77824`},
		{"region without rows", func(m *Manifest) { m.Rows[0].Rows = 0 },
			`dense.bin: rows "embed": 0 rows of 4999 bytes are impossible`},
		{"region with empty rows", func(m *Manifest) { m.Rows[0].RowBytes = -1 },
			`dense.bin: rows "embed": 12 rows of -1 bytes are impossible`},
		{"region stride", func(m *Manifest) { m.Rows[0].RowStride = 4998 },
			`dense.bin: rows "embed": row stride 4998 is less than a row's 4999 bytes`},
		{"region overflows", func(m *Manifest) { m.Rows[0].Rows = 1 << 61; m.Rows[0].RowStride = 1 << 61 },
			`dense.bin: rows "embed": 2305843009213693952 rows of 2305843009213693952 bytes are more than the file, 77824`},
		{"region blocks", func(m *Manifest) { m.Rows[0].Blocks = m.Rows[0].Blocks[:1] },
			`dense.bin: rows "embed": 1 block checksums, not 2`},
		{"region factor", func(m *Manifest) { m.Rows[0].Factor = nan },
			`dense.bin: rows "embed": factor is NaN`},

		{"artifact in no file", func(m *Manifest) { m.Artifacts[0].File = "x" },
			`model.fb: artifact 0 "body": file "x" is no companion of the package`},
		{"artifact in the weights", func(m *Manifest) { m.Artifacts[0].File = DenseName },
			`model.fb: artifact 0 "body": file "dense.bin" is no companion of the package`},
		{"artifact past the end", func(m *Manifest) { m.Artifacts[0].Offset = 17 },
			`model.fb: artifact 0 "body": 48 bytes at offset 17 do not lie in programs.bin, 64 bytes long`},
		{"artifact overflows", func(m *Manifest) { m.Artifacts[0].Length = math.MaxInt64 },
			`model.fb: artifact 0 "body": 9223372036854775807 bytes at offset 16 do not lie in programs.bin, 64 bytes long`},
		{"artifact empty", func(m *Manifest) { m.Artifacts[0].Length = 0 },
			`model.fb: artifact 0 "body": 0 bytes at offset 16 do not lie in programs.bin, 64 bytes long`},
		{"artifact negative", func(m *Manifest) { m.Artifacts[0].Offset = -1 },
			`model.fb: artifact 0 "body": 48 bytes at offset -1 do not lie in programs.bin, 64 bytes long`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := valid()
			c.spoil(m)
			_, err := Decode(seal(encode(m)))
			require.EqualError(t, err, c.want)
			var typed *Error
			require.ErrorAs(t, err, &typed)
			_, err = Encode(m)
			require.EqualError(t, err, c.want)
		})
	}
}

// Records need not lie in the order in which they are listed.
func TestCheckAnyFlashOrder(t *testing.T) {
	m := valid()
	m.Experts[1].Offset, m.Experts[2].Offset = m.Experts[2].Offset, m.Experts[1].Offset
	require.NoError(t, m.Check())
}
