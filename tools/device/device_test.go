//go:build linux

package device

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"estream/lower/qnn/find"
	"estream/lower/qnn/find/findtest"
	"estream/tools/device/devicetest"
)

// The test is the program on the device too, under that name.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "estream" {
		os.Exit(program(os.Args[1:]))
	}
	os.Exit(m.Run())
}

func program(args []string) int {
	switch args[0] {
	case "--version":
		fmt.Println("estream version fake")
	case "say":
		fmt.Println(strings.Join(args[1:], "|"))
		fmt.Fprintln(os.Stderr, "loud")
		for _, name := range []string{"LD_LIBRARY_PATH", "ADSP_LIBRARY_PATH", find.Variable} {
			fmt.Println(name + "=" + os.Getenv(name))
		}
	case "fail":
		return 3
	case "wait":
		stopped := make(chan os.Signal, 1)
		signal.Notify(stopped, syscall.SIGTERM)
		fmt.Println("waiting")
		<-stopped
		if err := os.WriteFile("stopped", nil, 0o644); err != nil {
			return 1
		}
	}
	return 0
}

var ctx = context.Background()

func pick(t testing.TB, f *devicetest.Fake) *Device {
	t.Helper()
	a, err := Look(f.Make(t))
	require.NoError(t, err)
	d, err := a.Pick(ctx, "")
	require.NoError(t, err)
	return d
}

func TestPick(t *testing.T) {
	_, err := Look(filepath.Join(t.TempDir(), "adb"))
	require.ErrorIs(t, err, ErrNoADB)
	require.ErrorContains(t, err, "install the package adb, or Android's platform-tools, or name it with --adb")
	const one, two = "A1                     device usb:1 model:x transport_id:1", "B2 unauthorized usb:2 transport_id:2"
	for _, c := range []struct{ devices, serial, want string }{
		{one, "", ""}, {one, "A1", ""}, {one + "\n" + two, "A1", ""}, {"A1\tdevice", "", ""},
		{"\n", "", "no device is attached: plug one in and turn on USB debugging in its developer options, or adb connect HOST"},
		{one + "\n" + two, "", "2 devices are attached: choose one of A1, B2 with -s"},
		{one, "C3", "no device C3 is attached: choose one of A1"},
		{two, "", "device B2 is unauthorized: unlock it and allow USB debugging from this computer"},
		{"B2\toffline", "", "device B2 is offline: plug it in again, or adb reconnect"},
		{"????????????           no permissions (user in plugdev group; are your udev rules wrong?); see [http://developer.android.com/tools/device.html] usb:1-2", "", "is no permissions (user in plugdev group"},
		{"B2                     recovery usb:1-2", "", "device B2 is recovery: start its system"},
		{"* daemon not running; starting now at tcp:5037\n* daemon started successfully\n" + one, "", ""},
	} {
		f := devicetest.Fake{Devices: c.devices}
		a, err := Look(f.Make(t))
		require.NoError(t, err)
		d, err := a.Pick(ctx, c.serial)
		if c.want != "" {
			require.ErrorContains(t, err, c.want)
			continue
		}
		require.NoError(t, err, c.devices)
		require.Equal(t, "A1", d.Serial)
	}
}

func TestFacts(t *testing.T) {
	d := pick(t, &devicetest.Fake{Machine: "aarch64", Properties: map[string]string{
		"ro.product.model": "Pixel X", "ro.build.version.release": "16", "ro.soc.model": "SM8750", "ro.soc.manufacturer": "QTI"}})
	f, err := d.Facts(ctx)
	require.NoError(t, err)
	require.Positive(t, f.Memory)
	soc, _ := find.ByModel(69)
	require.Equal(t, &Facts{Serial: "FAKE1", OS: "android", Machine: "aarch64", Model: "Pixel X", Release: "16", Memory: f.Memory, SoC: soc}, f)

	board := pick(t, &devicetest.Fake{Machine: "aarch64", Files: map[string]string{
		"/proc/device-tree/compatible": "thundercomm,rb3\x00qcom,qcs6490-rb3gen2\x00qcom,qcm6490\x00", "/sys/devices/soc0/family": "Snapdragon\n"}})
	f, err = board.Facts(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"linux", "QCS6490 (v68)"}, []string{f.OS, f.SoC.String()})

	other := pick(t, &devicetest.Fake{Machine: "aarch64", Properties: map[string]string{"ro.soc.model": "Tensor G4"}})
	f, err = other.Facts(ctx)
	require.NoError(t, err)
	require.Contains(t, f.NoSoC, "no Qualcomm chip")
}

// A folder from which nothing can be run is not taken.
func TestPlace(t *testing.T) {
	phone := &Facts{OS: "android"}
	for _, c := range []struct{ named, noexec, want, note string }{
		{"", "", androidFolder, ""},
		{"/data/local/x y", "", "/data/local/x y", ""},
		{"/data/local/bad", "/data/local/bad", androidFolder, "/data/local/bad: exit code 126: programs cannot be run from it (noexec, or a file system without permissions): "},
		{"/sdcard/estream", "", androidFolder, "/sdcard/estream: shared storage, from which Android runs no program"},
		{"/storage/emulated/0", "", androidFolder, "shared storage"},
		{"here", "", androidFolder, "here: exit code 2: not an absolute path"},
	} {
		d := pick(t, &devicetest.Fake{NoExec: c.noexec})
		p, err := d.Place(ctx, phone, c.named)
		require.NoError(t, err, c.named)
		require.Equal(t, c.want, p.Folder)
		require.Equal(t, c.note != "", len(p.Notes) == 1, "notes: %q", p.Notes)
		require.Contains(t, strings.Join(p.Notes, ""), c.note)
	}
	d := pick(t, &devicetest.Fake{NoExec: "/tmp"})
	_, err := d.Place(ctx, phone, "")
	require.ErrorContains(t, err, "device FAKE1 has no folder to run programs from: "+androidFolder+": exit code 126")
	require.ErrorContains(t, err, "name one with --to")
}

// load makes a package and the program, to be pushed to this computer.
func load(t testing.TB) (l Load, f *Facts) {
	dir := findtest.Tree(t, map[string]string{
		"it's.estream/model.fb": "manifest", "it's.estream/experts.bin": strings.Repeat("expert", 1<<16), "it's.estream/tokenizer.json": "{}",
	})
	return Load{Program: os.Args[0], Package: filepath.Join(dir, "it's.estream")}, &Facts{OS: "linux", Machine: machine(t)}
}

func machine(t testing.TB) string {
	e, err := elf.Open(os.Args[0])
	require.NoError(t, err)
	defer e.Close()
	return map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64"}[e.Machine]
}

func push(t testing.TB, d *Device, l Load, f *Facts) (Pushed, error) {
	t.Helper()
	files, err := l.Files(f)
	require.NoError(t, err)
	last := int64(-1)
	return d.Push(ctx, androidFolder, files, func(done, total int64) {
		require.LessOrEqual(t, done, total)
		require.GreaterOrEqual(t, done, last)
		last = done
	})
}

// What is there is kept, what is not, is of another size or has other bytes is pushed.
func TestPush(t *testing.T) {
	fake := &devicetest.Fake{}
	d := pick(t, fake)
	l, f := load(t)
	p, err := push(t, d, l, f)
	require.NoError(t, err)
	require.Equal(t, []int{4, 0}, []int{p.Files, p.Kept})
	at := filepath.Join(fake.Root, androidFolder, "packages/it's.estream")
	compare := func() {
		for _, name := range []string{"model.fb", "experts.bin", "tokenizer.json"} {
			want, err := os.ReadFile(filepath.Join(l.Package, name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(at, name))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), name)
			require.NoFileExists(t, filepath.Join(at, name+".partial"))
		}
	}
	compare()
	st, err := os.Stat(filepath.Join(fake.Root, androidFolder, "estream"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), st.Mode().Perm())

	p, err = push(t, d, l, f)
	require.NoError(t, err)
	require.Equal(t, Pushed{Kept: 4}, p)

	require.NoError(t, os.WriteFile(filepath.Join(at, "model.fb"), []byte("manifesT"), 0o644))
	require.NoError(t, os.Truncate(filepath.Join(at, "experts.bin"), 1000))
	require.NoError(t, os.WriteFile(filepath.Join(at, "tokenizer.json.partial"), []byte("half"), 0o644))
	p, err = push(t, d, l, f)
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{p.Files, p.Kept})
	require.NoError(t, os.Remove(filepath.Join(at, "tokenizer.json")))
	_, err = push(t, d, l, f)
	require.NoError(t, err)
	compare()
}

func TestPushFails(t *testing.T) {
	for _, c := range []struct {
		name string
		fake devicetest.Fake
		want string
	}{
		{"too little space", devicetest.Fake{FreeKiB: "2048"}, androidFolder + " has 2 MiB free, and "},
		{"space runs out", devicetest.Fake{FailPush: "remote write failed: No space left on device"}, "No space left on device: free space on the device, or choose another folder with --to"},
		{"damage", devicetest.Fake{Damage: "model.fb"}, "model.fb: it arrived damaged: repeat the command"},
		{"not allowed", devicetest.Fake{FailPush: "remote couldnt create file: Permission denied"}, "choose a folder that the shell of the device may write"},
	} {
		d := pick(t, &c.fake)
		l, f := load(t)
		_, err := push(t, d, l, f)
		require.ErrorContains(t, err, c.want, c.name)
		require.NoFileExists(t, filepath.Join(c.fake.Root, androidFolder, "packages/it's.estream/model.fb"), c.name)
	}
	fake := devicetest.Fake{}
	d := pick(t, &fake)
	l, f := load(t)
	require.NoError(t, os.WriteFile(filepath.Join(fake.Root, ".adb/gone"), nil, 0o644))
	_, err := push(t, d, l, f)
	require.ErrorContains(t, err, "the device went away: plug it in again, and repeat the command")
}

func TestRun(t *testing.T) {
	for _, name := range []string{"LD_LIBRARY_PATH", "ADSP_LIBRARY_PATH", "ESTREAM_QNN_LIBS"} {
		t.Setenv(name, "") // of whoever runs the tests
	}
	fake := &devicetest.Fake{}
	d := pick(t, fake)
	l, f := load(t)
	_, err := push(t, d, l, f)
	require.NoError(t, err)
	var out, errs bytes.Buffer
	r := Run{Folder: androidFolder, OS: "android", Stdout: &out, Stderr: &errs}
	version, err := d.Probe(ctx, r)
	require.NoError(t, err)
	require.Equal(t, "estream version fake", version)

	r.Args = []string{"say", "it's", "a  b", "$HOME;`x`", "é"}
	code, err := d.Run(ctx, r)
	require.NoError(t, err)
	require.Equal(t, 0, code)
	require.Equal(t, "it's|a  b|$HOME;`x`|é\nLD_LIBRARY_PATH=\nADSP_LIBRARY_PATH=\nESTREAM_QNN_LIBS=\n", out.String())
	require.Equal(t, "loud\n", errs.String())

	out.Reset()
	r.Args, r.Libraries = []string{"say"}, true
	_, err = d.Run(ctx, r)
	require.NoError(t, err)
	lib := filepath.Join(fake.Root, androidFolder, "lib")
	require.Equal(t, "\nLD_LIBRARY_PATH="+lib+":/vendor/lib64\nADSP_LIBRARY_PATH="+find.DSPPath(lib)+"\nESTREAM_QNN_LIBS="+lib+"\n", out.String())

	r.Args = []string{"fail"}
	code, err = d.Run(ctx, r)
	require.NoError(t, err)
	require.Equal(t, 3, code)
}

// A run that is cancelled is stopped on the device.
func TestRunCancelled(t *testing.T) {
	fake := &devicetest.Fake{}
	d := pick(t, fake)
	l, f := load(t)
	_, err := push(t, d, l, f)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(ctx)
	in, out := io.Pipe()
	go func() {
		if _, err := in.Read(make([]byte, 100)); err == nil { // it waits
			cancel()
		}
	}()
	_, err = d.Run(ctx, Run{Folder: androidFolder, Args: []string{"wait"}, Stdout: out, Stderr: io.Discard})
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(fake.Root, androidFolder, "stopped"))
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

func TestProbeFails(t *testing.T) {
	fake := &devicetest.Fake{}
	d := pick(t, fake)
	r := Run{Folder: androidFolder}
	_, err := d.Probe(ctx, r)
	require.ErrorContains(t, err, "does not start on device FAKE1")
	l, f := load(t)
	_, err = push(t, d, l, f)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(filepath.Join(fake.Root, androidFolder, "estream"), 0o644))
	_, err = d.Probe(ctx, r)
	require.ErrorContains(t, err, "it lost its permission, or the folder does not allow programs: name another with --to")
}

func TestPull(t *testing.T) {
	fake := &devicetest.Fake{Files: map[string]string{"/data/local/tmp/estream/a b": "result"}}
	d := pick(t, fake)
	local := filepath.Join(t.TempDir(), "out")
	require.NoError(t, d.Pull(ctx, androidFolder+"/a b", local))
	got, err := os.ReadFile(local)
	require.NoError(t, err)
	require.Equal(t, "result", string(got))
	require.Error(t, d.Pull(ctx, androidFolder+"/none", local+"2"))
	require.NoFileExists(t, local+"2")
	require.NoFileExists(t, local+"2.partial")
}

// Of libraries, those go to a device that it loads.
func TestLibraries(t *testing.T) {
	const v = "v2.51.0.260929181845"
	files := map[string]string{"libQnnHtp.so": findtest.Android(v), "libQnnSystem.so": findtest.Android(v), "libQnnHtpPrepare.so": findtest.Android(v)}
	for _, arch := range []string{"75", "79"} {
		files["libQnnHtpV"+arch+"Stub.so"], files["libQnnHtpV"+arch+"Skel.so"] = findtest.Android(v), findtest.Skel(v)
	}
	dir := findtest.Tree(t, files)
	chip := func(model int) *Facts {
		s, _ := find.ByModel(model)
		return &Facts{OS: "android", Machine: "aarch64", SoC: s}
	}
	names := func(f *Facts, folder string) ([]string, error) {
		list, err := Load{Libraries: folder}.Files(f)
		var out []string
		for _, x := range list {
			out = append(out, x.Remote)
		}
		return out, err
	}
	got, err := names(chip(69), dir)
	require.NoError(t, err)
	require.Equal(t, []string{"lib/libQnnHtp.so", "lib/libQnnHtpPrepare.so", "lib/libQnnSystem.so", "lib/libQnnHtpV79Skel.so", "lib/libQnnHtpV79Stub.so"}, got)
	got, err = names(chip(0), dir)
	require.NoError(t, err)
	require.Len(t, got, 7)
	_, err = names(chip(87), dir)
	require.ErrorContains(t, err, "has no stub for SM8850 (v81): take libQnnHtpV81Stub.so from an SDK that knows the chip")
	_, err = names(chip(69), t.TempDir())
	require.ErrorContains(t, err, "no library of QNN in")
}

func TestProgram(t *testing.T) {
	file := func(e findtest.ELF) string {
		return filepath.Join(findtest.Tree(t, map[string]string{"estream": e.File()}), "estream")
	}
	phone, board := &Facts{OS: "android", Machine: "aarch64"}, &Facts{OS: "linux", Machine: "aarch64"}
	arm, android, gnu := findtest.ELF{Machine: elf.EM_AARCH64}, findtest.ELF{Machine: elf.EM_AARCH64, Interp: "/system/bin/linker64"}, findtest.ELF{Machine: elf.EM_AARCH64, Interp: "/lib/ld-linux-aarch64.so.1"}
	for _, c := range []struct {
		e    findtest.ELF
		f    *Facts
		want string
	}{
		{arm, phone, ""}, {arm, board, ""}, {android, phone, ""}, {gnu, board, ""},
		{gnu, phone, "is started by /lib/ld-linux-aarch64.so.1, which a device with android does not have: build one with CGO_ENABLED=0 GOOS=android GOARCH=arm64 go build -o estream-device ./tools/estream"},
		{android, board, "is started by /system/bin/linker64, which a device with linux does not have"},
		{findtest.ELF{Machine: elf.EM_X86_64}, phone, "is for EM_X86_64, the device is aarch64: build one with"},
	} {
		_, err := Load{Program: file(c.e)}.Files(c.f)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	_, err := Load{Program: "none"}.Files(phone)
	require.ErrorContains(t, err, "no such file or directory: build one with CGO_ENABLED=0 GOOS=android")
	_, err = Load{Program: "device.go"}.Files(phone)
	require.ErrorContains(t, err, "device.go is no program for a device")
}
