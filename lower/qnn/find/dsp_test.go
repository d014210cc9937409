package find

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/find/findtest"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestDSPPath(t *testing.T) {
	const skel = "libQnnHtpV79Skel.so"
	const remedy = ": export ADSP_LIBRARY_PATH='/q/lib;/system/lib/rfsa/adsp;/system/vendor/lib/rfsa/adsp;/dsp'"
	files := map[string]string{"/q/lib/" + skel: "", "/q/old/libQnnHtpV75Skel.so": ""}
	for _, c := range []struct {
		name  string
		env   map[string]string
		more  string // another file
		skels string
		want  []string
	}{
		{"right", map[string]string{"ADSP_LIBRARY_PATH": DSPPath("/q/lib")}, "", "/q/lib", nil},
		{"right, empty entries", map[string]string{"ADSP_LIBRARY_PATH": ";/q/lib;"}, "", "/q/lib", nil},
		{"colons", map[string]string{"ADSP_LIBRARY_PATH": "/q/lib:/dsp"}, "", "/q/lib",
			[]string{`ADSP_LIBRARY_PATH="/q/lib:/dsp" is joined with ":", which makes it the name of one folder: ";" separates` + remedy}},
		{"another generation", map[string]string{"ADSP_LIBRARY_PATH": "/q/old;/dsp"}, "", "/q/lib", []string{`no folder of ADSP_LIBRARY_PATH="/q/old;/dsp" has libQnnHtpV79Skel.so` + remedy}},
		{"no absolute path", map[string]string{"ADSP_LIBRARY_PATH": "lib;/q/lib"}, "", "/q/lib", []string{`ADSP_LIBRARY_PATH has "lib", which is no absolute path` + remedy}},
		{"not set", nil, "", "/q/lib", []string{"ADSP_LIBRARY_PATH is not set, and no folder of the system has libQnnHtpV79Skel.so" + remedy}},
		{"not set, and the system has it", nil, "/vendor/lib/rfsa/adsp/" + skel, "", nil},
		{"not set, and there is none", nil, "", "", []string{"FOLDER (with lib/hexagon-v79/unsigned/libQnnHtpV79Skel.so of the SDK);/system/lib"}},
		{"the other variable comes first", map[string]string{"ADSP_LIBRARY_PATH": "/q/lib", "DSP_LIBRARY_PATH": "/q/old"}, "", "/q/lib", []string{`no folder of DSP_LIBRARY_PATH="/q/old" has libQnnHtpV79Skel.so: export DSP_LIBRARY_PATH=`}},
	} {
		all := map[string]string{c.more: ""}
		for k, v := range files {
			all[k] = v
		}
		delete(all, "")
		got := in(t, "android/arm64", c.env, all).CheckDSPPath(79, c.skels)
		require.Len(t, got, len(c.want), "%s: %v", c.name, got)
		for i, err := range got {
			require.ErrorContains(t, err, c.want[i], c.name)
		}
	}
}

func TestDSP(t *testing.T) {
	s := in(t, "android/arm64", nil, map[string]string{"/dev/fastrpc-cdsp": "", "/dev/null": "", "/vendor/lib64/libcdsprpc.so": findtest.Android("")})
	require.Equal(t, []Node{{"/dev/fastrpc-cdsp", nil}}, s.DSP())
	require.Equal(t, "/vendor/lib64/libcdsprpc.so", s.RPC())
	s = in(t, "linux/amd64", nil, nil)
	require.Empty(t, s.DSP())
	require.Empty(t, s.RPC())
}

// Paths of Windows lie under another root too.
func TestWindows(t *testing.T) {
	s := in(t, "windows/arm64", nil, nil)
	require.True(t, strings.HasPrefix(s.at(`/x`), s.Root), s.at(`/x`))
	_, err := s.Search("")
	require.ErrorContains(t, err, `C:\Windows\System32`)
	require.False(t, errors.Is(err, ErrNoHTP))
}

func FuzzLibrary(f *testing.F) {
	for _, text := range []string{findtest.Linux(build47), findtest.Android(build51), findtest.Skel(""), "MZ", "\x7fELF"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := madeFor(bytes.NewReader(data))
		if err == nil && got == "" {
			t.Fatal("made for nothing")
		}
	})
}
