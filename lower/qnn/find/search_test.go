package find

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/find/findtest"
)

// A backend has the newest folder with its library, whatever else newer ones have.
func TestSearchFor(t *testing.T) {
	const old, later = "/home/u/.cache/estream/qnn/2.3.0/onnxruntime_qnn", "/home/u/.cache/estream/qnn/2.7.0/onnxruntime_qnn"
	files := map[string]string{
		old + "/libQnnCpu.so":   findtest.Linux(build47),
		old + "/libQnnHtp.so":   findtest.Linux(build47),
		later + "/libQnnHtp.so": findtest.Linux(build51),
		later + "/libQnnIr.so":  findtest.Linux(build51),
		"/home/u/.cache/estream/qnn/2.7.0-arm64/onnxruntime_qnn/libQnnGpu.so": findtest.Android(build51),
		"/named/libQnnHtp.so": findtest.Linux(build51),
	}
	const install = ": install QAIRT 2.47, the last whose wheel has it, with tools/qnn-libs 2.3.0"
	for _, c := range []struct {
		name, system, named, backend string
		without                      string // a file
		want                         string // a folder, or an error
	}{
		{"the CPU's", "linux/amd64", "", "cpu", "", old},
		{"HTP's", "linux/amd64", "", "htp", "", later},
		{"HTP's of the older", "linux/amd64", "", "htp", later + "/libQnnHtp.so", old},
		{"the converters'", "linux/amd64", "", "ir", "", later},
		{"any", "linux/amd64", "", "", "", later},
		{"a folder that is named counts alone", "linux/amd64", "/named", "cpu", "", "no libQnnCpu.so in /named" + install + " and name its folder with ESTREAM_QNN_LIBS"},
		{"no CPU's", "linux/amd64", "", "cpu", old + "/libQnnCpu.so", "no libQnnCpu.so in " + later + ", " + old + install},
		{"of another system", "linux/amd64", "", "gpu", "", "no libQnnGpu.so in " + later + ", " + old + ": install it with tools/qnn-libs, or name a folder that has it with ESTREAM_QNN_LIBS"},
		{"no CPU's on a phone", "android/arm64", "", "cpu", "", "no libQnnCpu.so in /home/u/.cache/estream/qnn/2.7.0-arm64/onnxruntime_qnn: push those of an SDK that has it with estream device push --libraries FOLDER"},
		{"nothing", "linux/amd64", "/home", "cpu", "", "no library of QNN in /home: name the folder"},
	} {
		some := map[string]string{}
		for path, text := range files {
			if path != c.without {
				some[path] = text
			}
		}
		got, err := in(t, c.system, nil, some).SearchFor(c.named, c.backend)
		if err != nil {
			require.ErrorContains(t, err, c.want, c.name)
			require.True(t, errors.Is(err, fs.ErrNotExist), c.name)
			continue
		}
		require.Equal(t, c.want, got.Path, c.name)
	}
	s := in(t, "linux/arm64", map[string]string{Variable: "/a"}, map[string]string{"/a/libQnnHtp.so": findtest.ELF{Machine: 183, Needed: []string{"libc.so.6"}}.File()})
	_, err := s.SearchFor("", "cpu")
	require.EqualError(t, err, "no libQnnCpu.so in /a: tools/qnn-libs has none for this system: name the folder of an SDK that has it with ESTREAM_QNN_LIBS")
}
