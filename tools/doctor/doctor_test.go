package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"estream/lower/host/kernel"
	"estream/lower/qnn/find"
	"estream/lower/qnn/find/findtest"
	"estream/lower/qnn/native"
	"estream/tools/device/devicetest"
)

// The test is the process that loads a library too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "load-library" {
		native.Serve()
	}
	os.Exit(m.Run())
}

const build47, build51 = "v2.47.0.260601114230", "v2.51.0.260929181845"

var ctx = context.Background()

// options look at a computer of files, without adb.
func options(t testing.TB, system string, env, files map[string]string) Options {
	goos, arch, _ := strings.Cut(system, "/")
	s := find.System{Root: findtest.Tree(t, files), OS: goos, Arch: arch,
		Env: func(name string) string { return env[name] }, Property: func(name string) string { return env[name] }}
	return Options{System: s, Folder: t.TempDir(), ADB: filepath.Join(t.TempDir(), "adb")}
}

// said are the findings of an area, a line each.
func said(r *Report, area string) string {
	var out strings.Builder
	for _, f := range r.Findings {
		if f.Area == area {
			fmt.Fprintf(&out, "%s %s: %s => %s\n", f.State, f.Name, f.Value, f.Remedy)
		}
	}
	return out.String()
}

// Whatever is wrong beside it, the processor decides; what is ill has a remedy.
func TestHere(t *testing.T) {
	t.Setenv(find.Variable, t.TempDir())
	r := Examine(ctx, Options{System: find.Here(), Folder: t.TempDir(), Built: Built(), ADB: "no-such-adb"})
	require.True(t, r.OK, "%+v", r.Findings)
	require.Contains(t, said(r, "processor"), "ok arithmetic: ")
	require.Contains(t, said(r, "disk"), "direct reads: ")
	require.Contains(t, said(r, "adb"), "missing adb: not found: packages cannot be run on a phone from here => apt-get install adb")
	for _, f := range r.Ill() {
		require.NotEmpty(t, f.Remedy, "%+v", f)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.Contains(t, string(text), `"soc":null`)
	require.Contains(t, string(text), `"libraries":[]`)
}

func TestKernelsForced(t *testing.T) {
	t.Setenv(kernel.Variable, "abacus")
	r := Examine(ctx, options(t, "linux/amd64", nil, nil))
	require.False(t, r.OK)
	require.Contains(t, said(r, "processor"), "wrong instructions: ESTREAM_CPU=abacus: this processor has ")
	require.Contains(t, said(r, "processor"), "=> unset ESTREAM_CPU, or set it to one of ")
}

func TestArithmetic(t *testing.T) {
	for _, s := range kernel.Sets() {
		require.NoError(t, arithmetic(ctx, s), s)
	}
	require.NoError(t, alike([]float32{1, 2}, []float32{1, 2.0001}))
	require.ErrorContains(t, alike([]float32{1, 2}, []float32{1, 2.1}), "element 1 of a product is 2, and should be 2.1")
	nan := float32(0)
	require.Error(t, alike([]float32{nan / nan}, []float32{1}))
}

func TestMemory(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"plain", map[string]string{"/proc/meminfo": "MemTotal:       16384000 kB\nMemAvailable:    1048576 kB\n", "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"},
			[]string{"ok memory: 15.6 GiB, 1.0 GiB of it available", "ok limit: none", "ok huge pages: always [madvise] never"}},
		{"groups of version 2", map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "1073741824\n",
			"/sys/fs/cgroup/a/cpu.max": "150000 100000\n", "/sys/fs/cgroup/memory.max": "8589934592\n"},
			[]string{"note limit: 1.0 GiB in /sys/fs/cgroup/a/memory.max: what is over it is killed; run --memory keeps below",
				"note processor time: 150000 of each 100000 microseconds in /sys/fs/cgroup/a/cpu.max"}},
		{"groups of version 1", map[string]string{"/proc/self/cgroup": "3:cpu,cpuacct:/x\n2:memory:/x\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "536870912\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n", "/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "-1\n"},
			[]string{"note limit: 512.0 MiB in /sys/fs/cgroup/memory/x/memory.limit_in_bytes"}},
		{"turned off", map[string]string{"/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n", "/proc/self/cgroup": "nonsense\n0::\n"},
			[]string{"note memory: linux is not asked for its size", "note huge pages: turned off", "ok limit: none"}},
	} {
		r := Examine(ctx, options(t, "linux/amd64", nil, c.files))
		for _, w := range c.want {
			require.Contains(t, said(r, "memory"), w, c.name)
		}
		require.NotContains(t, said(r, "memory"), "processor time: -1")
	}
}

func TestDisk(t *testing.T) {
	r := &Report{}
	r.disk(ctx, t.TempDir())
	require.NotContains(t, said(r, "disk"), string(Wrong))
	if runtime.GOOS == "linux" {
		r = &Report{}
		r.disk(ctx, filepath.Join(t.TempDir(), "none"))
		require.Contains(t, said(r, "disk"), "=> name the folder for packages with --folder")
		r = &Report{}
		r.disk(ctx, "/proc") // takes no files
		require.Contains(t, said(r, "disk"), "wrong direct reads: ")
	}
}

func TestNotBuilt(t *testing.T) {
	for _, c := range []struct{ system, want string }{
		{"android/arm64", "=> CGO_ENABLED=1 GOOS=android GOARCH=arm64 CC=$NDK/toolchains/llvm/prebuilt/linux-x86_64/bin/aarch64-linux-android30-clang go build ./tools/estream"},
		{"windows/arm64", "=> the libraries are called on linux and android alone: GOOS=linux go build ./tools/estream, and run that there"},
	} {
		o := options(t, c.system, nil, nil)
		o.Built = fmt.Errorf("this build cannot call QNN's libraries: %w", errors.ErrUnsupported)
		r := Examine(ctx, o)
		require.True(t, r.OK)
		require.Contains(t, said(r, "qnn"), "missing in this build: this build cannot call QNN's libraries")
		require.Contains(t, said(r, "qnn"), c.want)
	}
}

// phone is one where all is well.
func phone() (env, files map[string]string) {
	const lib = "/data/local/tmp/estream/lib"
	env = map[string]string{"ro.soc.model": "SM8750", "ro.soc.manufacturer": "QTI", find.Variable: lib, "ADSP_LIBRARY_PATH": find.DSPPath(lib)}
	files = map[string]string{"/dev/fastrpc-cdsp": "", "/vendor/lib64/libcdsprpc.so": ""}
	for _, name := range []string{"Cpu", "Htp", "HtpPrepare", "HtpV79Stub", "HtpV79Skel"} {
		files[lib+"/libQnn"+name+".so"] = findtest.Android(build51)
	}
	files[lib+"/libQnnSystem.so"] = findtest.Android("")
	files[lib+"/libQnnHtpV79Skel.so"] = findtest.Skel(build51)
	return env, files
}

func TestPhone(t *testing.T) {
	const lib = "/data/local/tmp/estream/lib"
	for _, c := range []struct {
		name   string
		change func(env, files map[string]string)
		want   string // of what is ill; "" if nothing is
	}{
		{"well", func(env, files map[string]string) {}, ""},
		{"colons", func(env, _ map[string]string) { env["ADSP_LIBRARY_PATH"] = lib + ":/dsp" },
			`wrong ADSP_LIBRARY_PATH: ADSP_LIBRARY_PATH="` + lib + `:/dsp" is joined with ":", which makes it the name of one folder: ";" separates => export ADSP_LIBRARY_PATH='` + lib + `;/system/lib/rfsa/adsp;/system/vendor/lib/rfsa/adsp;/dsp'`},
		{"another skel", func(_, files map[string]string) { files[lib+"/libQnnHtpV79Skel.so"] = findtest.Skel(build47) },
			"wrong stub and skel: the stub is QAIRT 2.51.0.260929181845, the skel 2.47.0.260601114230 => copy both from one QAIRT"},
		{"no stub", func(_, files map[string]string) { delete(files, lib+"/libQnnHtpV79Stub.so") },
			"missing stub: no libQnnHtpV79Stub.so => copy libQnnHtpV79Stub.so from lib/ of this system of the same QAIRT to the libraries"},
		{"no skel", func(_, files map[string]string) { delete(files, lib+"/libQnnHtpV79Skel.so") },
			"missing skel: no libQnnHtpV79Skel.so beside the libraries => copy libQnnHtpV79Skel.so from lib/hexagon-v79/unsigned of the same QAIRT to the libraries"},
		{"no node", func(_, files map[string]string) { delete(files, "/dev/fastrpc-cdsp") }, "missing device node: none of /dev/fastrpc-cdsp, /dev/adsprpc-smd => "},
		{"no rpc", func(_, files map[string]string) { delete(files, "/vendor/lib64/libcdsprpc.so") }, "missing libcdsprpc.so: in no usual folder, and stubs need it => it comes with the phone's system"},
		{"no system library", func(_, files map[string]string) { delete(files, lib+"/libQnnSystem.so") }, "missing system: no libQnnSystem.so in " + lib + " => copy it there from the same QAIRT"},
		{"no reference", func(_, files map[string]string) { delete(files, lib+"/libQnnCpu.so") }, "missing cpu: no libQnnCpu.so in " + lib + " => push those of an SDK that has it with estream device push --libraries FOLDER"},
		{"the GNU system's", func(_, files map[string]string) { files[lib+"/libQnnHtpPrepare.so"] = findtest.Linux(build51) }, "is for linux/amd64, and this is android/arm64"},
		{"an unknown chip", func(env, _ map[string]string) { env["ro.soc.model"] = "SM0000" }, "missing chip: ro.soc.model says SM0000"},
		{"no libraries", func(env, files map[string]string) { env[find.Variable] = "/none" }, "missing libraries: no library of QNN in /none => push them with estream device push --libraries FOLDER"},
	} {
		env, files := phone()
		c.change(env, files)
		r := Examine(ctx, options(t, "android/arm64", env, files))
		require.True(t, r.OK)
		ill := ""
		for _, f := range r.Ill() {
			require.NotEmpty(t, f.Remedy, "%s: %+v", c.name, f)
			ill += fmt.Sprintf("%s %s: %s => %s\n", f.State, f.Name, f.Value, f.Remedy)
		}
		if c.want == "" {
			require.Empty(t, ill, c.name)
			require.Equal(t, 69, r.SoC.Model)
			require.Len(t, r.Libraries, 6)
			continue
		}
		require.Contains(t, ill, c.want, c.name)
	}
}

// Each backend's library is that of the newest folder which has it.
func TestBackendsApart(t *testing.T) {
	const cpu, htp = "/c/estream/qnn/2.3.0/onnxruntime_qnn", "/c/estream/qnn/2.7.0/onnxruntime_qnn"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"two folders", map[string]string{htp + "/libQnnHtp.so": build51, cpu + "/libQnnCpu.so": build47},
			[]string{"ok libraries: " + htp + ", from tools/qnn-libs => ", "ok cpu: " + cpu + "/libQnnCpu.so, QAIRT 2.47.0.260601114230 => "}},
		{"the newer without HTP", map[string]string{htp + "/libQnnCpu.so": build51, cpu + "/libQnnHtp.so": build47},
			[]string{"ok libraries: " + cpu + ", ", "ok cpu: " + htp + "/libQnnCpu.so, QAIRT 2.51.0.260929181845 => "}},
		{"one folder", map[string]string{cpu + "/libQnnHtp.so": build47, cpu + "/libQnnCpu.so": build47},
			[]string{"ok libraries: " + cpu + ", ", "ok cpu: libQnnCpu.so, QAIRT 2.47.0.260601114230 => "}},
		{"the CPU's alone", map[string]string{cpu + "/libQnnCpu.so": build47},
			[]string{"ok libraries: " + cpu + ", ", "ok cpu: libQnnCpu.so, ", "missing htp: no libQnnHtp.so in " + cpu + " => copy it there"}},
		{"none for the CPU", map[string]string{htp + "/libQnnHtp.so": build51},
			[]string{"ok libraries: " + htp + ", ", "missing cpu: no libQnnCpu.so in " + htp + " => install QAIRT 2.47, the last whose wheel has it, with tools/qnn-libs 2.3.0\n"}},
	} {
		for path, build := range c.files {
			c.files[path] = findtest.Linux(build)
		}
		o := options(t, "linux/amd64", nil, c.files)
		o.System.Cache = "/c"
		got := said(Examine(ctx, o), "qnn")
		for _, want := range c.want {
			require.Contains(t, got, want, c.name)
		}
		require.Equal(t, 1, strings.Count(got, " cpu: "), "%s: %s", c.name, got)
	}
}

// A chip whose node may not be opened, and one without half precision.
func TestBoard(t *testing.T) {
	o := options(t, "linux/arm64", nil, map[string]string{"/proc/device-tree/compatible": "qcom,qcs6490-rb3gen2"})
	require.NoError(t, os.MkdirAll(filepath.Join(o.System.Root, "dev"), 0o755))
	require.NoError(t, os.Symlink("fastrpc-cdsp", filepath.Join(o.System.Root, "dev/fastrpc-cdsp"))) // a loop cannot be opened
	r := Examine(ctx, o)
	require.Contains(t, said(r, "htp"), "note chip: QCS6490, number 93, HTP v68, from /proc/device-tree/compatible: it has no half precision")
	require.Contains(t, said(r, "htp"), "wrong device node: open ")
	require.Contains(t, said(r, "htp"), "missing libcdsprpc.so: in no usual folder, and stubs need it => install fastrpc (github.com/qualcomm/fastrpc)")
	o.SoC = "SM1"
	require.Contains(t, said(Examine(ctx, o), "htp"), `missing chip: unknown chip "SM1": give a name such as SM8750`)
	o.SoC = "69"
	require.Contains(t, said(Examine(ctx, o), "htp"), "ok chip: SM8750, number 69, HTP v79, from the command line")
}

func TestADB(t *testing.T) {
	fake := devicetest.Fake{Devices: "A1 device usb:1 model:X\nB2 unauthorized usb:2"}
	o := options(t, "linux/amd64", nil, nil)
	o.ADB = fake.Make(t)
	r := Examine(ctx, o)
	require.Equal(t, "ok adb: "+o.ADB+" => \nok device A1: usb:1 model:X => \nwrong device B2: unauthorized => device B2 is unauthorized: unlock it and allow USB debugging from this computer; adb kill-server asks again\n", said(r, "adb"))
}

// The vendor's own libraries are loaded, in a process that may crash.
func TestLoad(t *testing.T) {
	if os.Getenv(find.Variable) == "" {
		t.Skip(find.Variable + " names no folder of QNN's libraries")
	}
	o := Options{System: find.Here(), Folder: t.TempDir(), ADB: "no-such-adb", Child: native.Child{Command: []string{os.Args[0], "load-library"}}}
	require.Contains(t, said(Examine(ctx, o), "qnn"), "ok loading htp: it starts, and calls itself v2.")
	o = options(t, "linux/amd64", nil, map[string]string{"/a/libQnnHtp.so": findtest.Linux(build47)})
	o.Libraries, o.Child = "/a", native.Child{Command: []string{os.Args[0], "load-library"}}
	require.Contains(t, said(Examine(ctx, o), "qnn"), "wrong loading htp: ")
}
