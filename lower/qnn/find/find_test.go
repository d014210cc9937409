package find

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/find/findtest"
)

const (
	build47 = "v2.47.0.260601114230"
	build51 = "v2.51.0.260929181845"
)

// in is a computer with some files.
func in(t testing.TB, system string, env map[string]string, files map[string]string) System {
	goos, arch, _ := strings.Cut(system, "/")
	return System{
		Root: findtest.Tree(t, files), OS: goos, Arch: arch, Cache: "/home/u/.cache",
		Env: func(name string) string { return env[name] }, Property: func(name string) string { return env[name] },
	}
}

func TestSearchOrder(t *testing.T) {
	places := []struct{ name, folder, why string }{
		{"the flag", "/named", "the command line"},
		{"the variable", "/variable", Variable},
		{"the cache", "/home/u/.cache/estream/qnn/2.7.0/onnxruntime_qnn", "tools/qnn-libs"},
		{"an older one in the cache", "/home/u/.cache/estream/qnn/2.3.0/onnxruntime_qnn", "tools/qnn-libs"},
		{"an SDK's variable", "/sdk/lib/x86_64-linux-clang", "QNN_SDK_ROOT"},
		{"an installed SDK", "/opt/qcom/aistack/qairt/2.50.0.260828/lib/x86_64-linux-clang", "the vendor's SDK"},
		{"the system", "/usr/lib/x86_64-linux-gnu", "the system"},
	}
	for i, p := range places {
		files := map[string]string{}
		for _, later := range places[i:] {
			files[later.folder+"/libQnnHtp.so"] = findtest.Linux(build47)
		}
		env := map[string]string{"QNN_SDK_ROOT": "/sdk"}
		named := ""
		switch i {
		case 0:
			named, env[Variable] = "/named", "/variable"
		case 1:
			env[Variable] = "/variable"
		}
		got, err := in(t, "linux/amd64", env, files).Search(named)
		require.NoError(t, err, p.name)
		require.Equal(t, Folder{p.folder, p.why}, got.Folder, p.name)
	}
}

// Neither another processor's libraries nor another system's are taken.
func TestSearchRefuses(t *testing.T) {
	for _, c := range []struct {
		name, system, named string
		files               map[string]string
		want                string
		absent              bool
	}{
		{"nothing", "linux/amd64", "", nil, "no library of QNN in any of 4 folders, from /usr/local/lib to /usr/lib: install some with tools/qnn-libs, or name their folder with ESTREAM_QNN_LIBS", true},
		{"nothing on Android", "android/arm64", "", nil, "push them with estream device push --libraries FOLDER", true},
		{"an empty folder", "linux/amd64", "/a", map[string]string{"/a/x": ""}, "no library of QNN in /a: name the folder that has libQnnSystem.so", true},
		{"no folder", "windows/arm64", "/a", nil, "no library of QNN in /a: name the folder that has QnnSystem.dll", true},
		{"Android's on a computer", "linux/arm64", "/a", map[string]string{"/a/libQnnHtp.so": findtest.Android(build47)},
			"libraries of QNN in /a: /a/libQnnHtp.so is for android/arm64, and this is linux/arm64: take the library of the same name from another folder of the SDK", false},
		{"another processor's", "linux/arm64", "/a", map[string]string{"/a/libQnnHtp.so": findtest.Linux(build47)}, "is for linux/amd64, and this is linux/arm64", false},
		{"half a file", "linux/amd64", "/a", map[string]string{"/a/libQnnHtp.so": findtest.Linux(build47)[:70]}, "/a/libQnnHtp.so: no library: ", false},
	} {
		_, err := in(t, c.system, nil, c.files).Search(c.named)
		require.ErrorContains(t, err, c.want, c.name)
		require.Equal(t, c.absent, errors.Is(err, fs.ErrNotExist), c.name)
	}
}

func TestLibraries(t *testing.T) {
	s := in(t, "android/arm64", nil, map[string]string{
		"/sdk/lib/aarch64-android/libQnnCpu.so":                    findtest.Android(build51),
		"/sdk/lib/aarch64-android/libQnnHtp.so":                    findtest.Android(strings.Repeat(" ", 1<<20-600) + build51), // across two reads
		"/sdk/lib/aarch64-android/libQnnHtpPrepare.so":             findtest.Android(build51),
		"/sdk/lib/aarch64-android/libQnnHtpV75Stub.so":             findtest.Android(build51),
		"/sdk/lib/aarch64-android/libQnnHtpV79Stub.so":             findtest.Android(build51),
		"/sdk/lib/aarch64-android/libQnnHtpV79CalculatorStub.so":   findtest.Android(build51),
		"/sdk/lib/aarch64-android/libQnnSystem.so":                 findtest.Android(""),
		"/sdk/lib/hexagon-v79/unsigned/libQnnHtpV79Skel.so":        findtest.Skel(build47),
		"/sdk/lib/hexagon-v79/unsigned/libQnnHtpV79.so":            findtest.Skel(build47),
		"/sdk/lib/aarch64-android/README":                          "",
		"/sdk/lib/aarch64-android/libQnnHtpNetRunExtensions.so":    findtest.Android(build51),
		"/sdk/lib/aarch64-oe-linux-gcc11.2/libQnnHtpV81Stub.so":    findtest.Android(build51),
		"/sdk/lib/hexagon-v79/signed/libQnnHtpV81Skel.so":          findtest.Skel(build51),
		"/sdk/lib/aarch64-android/libonnxruntime_providers_qnn.so": findtest.Android(build51),
	})
	got, err := s.Search("/sdk")
	require.NoError(t, err)
	require.Equal(t, "/sdk/lib/aarch64-android", got.Path)
	var names []string
	for _, l := range got.Libraries {
		names = append(names, string(l.Kind)+" "+l.Name+" "+filepath.Base(l.Path))
		require.NoError(t, l.Misfit(s), l.Path)
	}
	require.Equal(t, []string{
		"backend cpu libQnnCpu.so", "backend htp libQnnHtp.so", "backend prepare libQnnHtpPrepare.so", "backend system libQnnSystem.so",
		"skel htp libQnnHtpV79Skel.so", "stub htp libQnnHtpV75Stub.so", "stub htp libQnnHtpV79Stub.so",
	}, names)
	require.Equal(t, []int{75, 79}, got.Archs(Stub))
	require.Equal(t, []int{79}, got.Archs(Skel))
	for _, c := range []struct {
		get  func() (Library, bool)
		want string
	}{
		{func() (Library, bool) { return got.Backend("htp") }, "2.51.0.260929181845"},
		{func() (Library, bool) { return got.Backend("system") }, "unknown"},
		{func() (Library, bool) { return got.Skel(79) }, "2.47.0.260601114230"},
	} {
		l, ok := c.get()
		require.True(t, ok)
		b, err := l.Build()
		require.NoError(t, err)
		require.Equal(t, c.want, b.String(), l.Path)
	}
	_, ok := got.Skel(75)
	require.False(t, ok)
}

// The vendor's own libraries, where the variable names some.
func TestVendor(t *testing.T) {
	if os.Getenv(Variable) == "" {
		t.Skip(Variable + " names no folder of QNN's libraries")
	}
	s := Here()
	got, err := s.Search("")
	require.NoError(t, err)
	htp, ok := got.Backend("htp")
	require.True(t, ok)
	b, err := htp.Build()
	require.NoError(t, err)
	require.True(t, b.Known() && b.Stamp > 0, "%s: version %v", htp.Path, b)
}

func TestBuild(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{build47, "2.47.0.260601114230"}, {"2.47.0.260601114230_193645", "2.47.0.260601114230"}, {"2.47", "2.47.0"}, {"v2.47.3", "2.47.3"},
		{"", ""}, {"2", ""}, {"2.47.", ""}, {"2.47.0.26x", ""}, {"qairt", ""}, {"2.47.0.26060111423099999", ""}, {"99999.1", ""},
	} {
		b, err := ParseBuild(c.in)
		if c.want == "" {
			require.ErrorContains(t, err, "is no version of QAIRT", c.in)
			continue
		}
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, b.String(), c.in)
	}
	in := []string{"2.45.9", "2.46", "2.47.0.260601114230", "2.47.0.260601114231", "2.47.1", "3.0"}
	for i := range in {
		for j := range in {
			a, _ := ParseBuild(in[i])
			b, _ := ParseBuild(in[j])
			require.Equal(t, sign(i-j), sign(a.Compare(b)), "%s against %s", in[i], in[j])
		}
	}
	a, _ := ParseBuild("2.47")
	b, _ := ParseBuild(build47)
	require.Zero(t, a.Compare(b), "a version without a stamp against one with")
}

func sign(n int) int { return max(-1, min(1, n)) }
