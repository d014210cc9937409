// Package device runs packages on a device that adb reaches: it pushes the
// program, the package and the libraries into a folder from which programs may be
// run, tries that, runs, and pulls the results.
//
// Invariants:
//
//	D1 a file has its name on the device only when all of it is there and its checksum is right; before, its name ends in .partial
//	D2 what is there with the right size and checksum is not pushed again
//	D3 nothing is written outside the folder
package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"estream/lower/qnn/find"
)

// A Device is one that adb can use.
type Device struct {
	adb    *ADB
	Serial string
}

// androidFolder is where Android lets its shell put programs and run them.
const androidFolder = "/data/local/tmp/estream"

// Facts are what a device is.
type Facts struct {
	Serial  string `json:"serial"`
	OS      string `json:"os"` // android or linux
	Machine string `json:"machine"`
	Model   string `json:"model"`
	Release string `json:"release"`
	Memory  int64  `json:"memory_bytes"`

	SoC   find.SoC `json:"soc"`
	NoSoC string   `json:"no_soc"` // why SoC is not known
}

// System is how package find asks a device.
func (f *Facts) System() find.System {
	return find.System{OS: f.OS, Arch: goArch(f.Machine), Env: func(string) string { return "" }, Property: func(string) string { return "" }}
}

// goArch returns Go's name of a processor that uname names.
func goArch(machine string) string {
	switch machine {
	case "aarch64", "armv8l":
		return "arm64"
	case "x86_64":
		return "amd64"
	}
	return machine
}

// asked are the lines that tell what a device is, each "name=value".
const asked = `echo machine=$(uname -m)
if command -v getprop >/dev/null; then echo os=android; else echo os=linux; fi
for p in ro.product.model ro.build.version.release ro.soc.model ro.soc.manufacturer; do echo $p=$(getprop $p 2>/dev/null); done
for f in /sys/devices/soc0/machine /sys/devices/soc0/soc_id /sys/devices/soc0/family; do echo $f=$(cat $f 2>/dev/null); done
echo compatible=$(tr '\000' ' ' </proc/device-tree/compatible 2>/dev/null)
echo memory=$(grep MemTotal: /proc/meminfo)`

// Facts asks a device what it is.
func (d *Device) Facts(ctx context.Context) (*Facts, error) {
	out, err := d.Shell(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("ask device %s: %w", d.Serial, err)
	}
	said := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		said[name] = value
	}
	f := &Facts{Serial: d.Serial, OS: said["os"], Machine: said["machine"], Model: said["ro.product.model"], Release: said["ro.build.version.release"]}
	if kb := strings.Fields(said["memory"]); len(kb) > 1 {
		n, _ := strconv.ParseInt(kb[1], 10, 64) // 0: it does not say
		f.Memory = n << 10
	}
	s := f.System()
	s.Property = func(name string) string { return said[name] }
	said["/proc/device-tree/compatible"] = strings.ReplaceAll(said["compatible"], " ", "\x00")
	s.Read = func(path string) ([]byte, error) { return []byte(said[path]), nil }
	if f.SoC, _, err = s.SoC(); err != nil {
		f.NoSoC = err.Error()
	}
	return f, nil
}

// An Exit is a script that failed on a device.
type Exit struct {
	Code   int
	Stderr string
}

func (e *Exit) Error() string {
	return fmt.Sprintf("exit code %d: %s", e.Code, strings.TrimSpace(e.Stderr))
}

// ended comes behind what a script prints, with its exit code: adb's own code does
// not tell a script that failed from a device that is gone.
const ended = "estream-ended:"

// Shell runs a script on the device and returns what it prints; the error is an
// *Exit if it fails there.
func (d *Device) Shell(ctx context.Context, script string) (string, error) {
	var out, stderr bytes.Buffer
	err := d.adb.run(ctx, &out, &stderr, "-s", d.Serial, "shell", "(\n"+script+"\n) </dev/null; echo "+ended+"$?")
	text := strings.ReplaceAll(out.String(), "\r\n", "\n")
	i := strings.LastIndex(text, ended)
	if i < 0 {
		return "", errors.Join(err, errors.New("the device has not run the script to its end"))
	}
	code, bad := strconv.Atoi(strings.TrimSpace(text[i+len(ended):]))
	if bad != nil {
		return "", fmt.Errorf("the device says %q", text[i:])
	}
	if code != 0 {
		return text[:i], &Exit{code, stderr.String()}
	}
	return text[:i], nil
}

// A Place is a folder on a device from which programs can be run.
type Place struct {
	Folder string
	Notes  []string // why a folder before it was not taken
}

// Place finds the folder: the one that is named if it will do, else one of those
// that are known to.
func (d *Device) Place(ctx context.Context, f *Facts, named string) (*Place, error) {
	var p Place
	candidates := []string{androidFolder}
	if f.OS == "linux" {
		candidates = append(candidates, "/var/tmp/estream", "/tmp/estream")
	}
	if named != "" {
		candidates = append([]string{path.Clean(named)}, candidates...)
	}
	for _, dir := range candidates {
		err := d.try(ctx, dir)
		if err == nil {
			p.Folder = dir
			return &p, nil
		}
		var exit *Exit
		if !errors.As(err, &exit) && !errors.Is(err, errShared) {
			return nil, err
		}
		p.Notes = append(p.Notes, fmt.Sprintf("%s: %v", dir, err))
	}
	return nil, fmt.Errorf("device %s has no folder to run programs from: %s: name one with --to", d.Serial, strings.Join(p.Notes, "; "))
}

var errShared = errors.New("shared storage, from which Android runs no program")

// try makes a folder and runs a script in it, as noexec and lost permissions show
// only then.
func (d *Device) try(ctx context.Context, dir string) error {
	for _, shared := range []string{"/sdcard", "/storage", "/mnt/sdcard", "/data/media"} {
		if dir == shared || strings.HasPrefix(dir, shared+"/") {
			return errShared
		}
	}
	if !path.IsAbs(dir) {
		return &Exit{2, "not an absolute path"}
	}
	_, err := d.Shell(ctx, fmt.Sprintf(`mkdir -p %[1]s && cd %[1]s || exit 1
echo "#!$(command -v sh)
exit 0" >.probe && chmod 755 .probe || exit 1
./.probe
code=$?
rm -f .probe
exit $code`, quote(dir)))
	var exit *Exit
	if errors.As(err, &exit) && exit.Code == 126 {
		exit.Stderr = "programs cannot be run from it (noexec, or a file system without permissions): " + exit.Stderr
	}
	return err
}

// quote makes one word of s for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
