// Package devicetest makes a program that stands in for adb, with a device behind
// it whose files are a folder.
package devicetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Fake is an adb and what its device is like.
type Fake struct {
	Devices    string            // what adb devices prints below its first line; "": one device, FAKE1
	Properties map[string]string // of Android; nil: it is no Android
	Machine    string            // of uname; "": the computer's own
	Files      map[string]string // of the device, such as /sys/devices/soc0/machine
	NoExec     string            // a folder where permissions are lost
	FreeKiB    string            // "": plenty
	FailPush   string            // what adb push complains of, as it fails
	Damage     string            // a part of the name of a file that is damaged when it is pushed, once
	Arguments  string            // a variable that gives a program its arguments, a line each, in place of its command line

	Root string // set by Make: where the device's files are
}

// Make writes the program and returns its path.
func (f *Fake) Make(t testing.TB) string {
	t.Helper()
	f.Root = t.TempDir()
	devices := f.Devices
	if devices == "" {
		devices = "FAKE1                  device usb:1-1 product:p model:Fake_Phone transport_id:1"
	}
	f.write(t, ".adb/devices", "List of devices attached\n"+devices+"\n\n")
	for name, text := range f.Files {
		f.write(t, name, text)
	}
	f.write(t, ".adb/setup", f.setup())
	return f.write(t, ".adb/adb", strings.ReplaceAll(adb, "ROOT", f.Root))
}

// setup is what the device's shell begins with.
func (f *Fake) setup() string {
	var s strings.Builder
	if f.Properties != nil {
		s.WriteString("getprop() { case \"$1\" in\n")
		for name, value := range f.Properties {
			s.WriteString(name + ") echo '" + value + "';;\n")
		}
		s.WriteString("esac; }\n")
	}
	if f.Machine != "" {
		s.WriteString("uname() { echo " + f.Machine + "; }\n")
	}
	if f.FreeKiB != "" {
		s.WriteString("df() { echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'; echo '/dev/block/dm-5 9999999 1 " + f.FreeKiB + " 99% /data'; }\n")
	}
	if f.NoExec != "" {
		s.WriteString("case \"$script\" in *'" + f.NoExec + "'*) chmod() { :; };; esac\n")
	}
	if f.FailPush != "" {
		s.WriteString("fail='" + f.FailPush + "'\n")
	}
	if f.Damage != "" {
		s.WriteString("damage='" + f.Damage + "'\n")
	}
	if f.Arguments != "" {
		s.WriteString("arguments=" + f.Arguments + "\n")
	}
	return s.String()
}

func (f *Fake) write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(f.Root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Log returns the commands that adb was given, a line each, the text of scripts apart.
func (f *Fake) Log(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.Root, ".adb/log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// adb is the program. Paths of the device in scripts are put below ROOT.
const adb = `#!/bin/sh
root='ROOT'
inside() { printf %s "$1" | sed -E "s#/(data/local|sdcard|storage|var/tmp|sys/devices|proc/device-tree)#$root/\1#g"; }
script=$4
. "$root/.adb/setup"
echo "$1 $2 $3 $5" >>"$root/.adb/log"
if [ "$1" = devices ]; then cat "$root/.adb/devices"; exit; fi
if ! grep -q "^$2 " "$root/.adb/devices"; then echo "error: device '$2' not found" >&2; exit 1; fi
if [ -e "$root/.adb/gone" ]; then echo 'error: closed' >&2; exit 1; fi
case "$3" in
shell)
	cd "$root"
	script=$(inside "$script")
	if [ -n "$arguments" ]; then
		script=$(printf %s "$script" | sed "s#^\./estream#$root/.adb/program#")
		printf '#!/bin/sh\n%s=$(printf "%%s\\n" "$@") exec ./estream\n' "$arguments" >"$root/.adb/program"
		chmod 755 "$root/.adb/program"
	fi
	eval "$script"
	exit;;
push)
	if [ -n "$fail" ]; then echo "adb: error: failed to copy '$4' to '$5': $fail" >&2; exit 1; fi
	to=$(inside "$5")
	cp "$4" "$to" && chmod 644 "$to"
	case "$4" in *"$damage"*) [ -n "$damage" ] && [ ! -e "$root/.adb/damaged" ] && : >"$root/.adb/damaged" && printf x | dd of="$to" bs=1 conv=notrunc 2>/dev/null;; esac
	echo "$4: 1 file pushed.";;
pull)
	cp "$(inside "$4")" "$5";;
esac
`
