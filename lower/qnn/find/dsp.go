package find

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A Node is a file by which programs reach the DSP that HTP is part of.
type Node struct {
	Path string
	Err  error // why it cannot be opened, nil if it can
}

// DSP lists the nodes that there are.
func (s System) DSP() (out []Node) {
	for _, name := range []string{"fastrpc-cdsp", "fastrpc-cdsp-secure", "adsprpc-smd", "adsprpc-smd-secure"} {
		f, err := os.Open(s.at("/dev/" + name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			f.Close() // nothing was written
		}
		out = append(out, Node{"/dev/" + name, err})
	}
	return out
}

// RPC returns the path of libcdsprpc.so, the system's own library that stubs need,
// "" where it lies in no usual folder.
func (s System) RPC() string {
	for _, dir := range append(s.system(), "/system/vendor/lib64") {
		for _, name := range []string{"libcdsprpc.so", "libcdsprpc.so.1"} {
			if p := path.Join(dir, name); s.exists(p) {
				return p
			}
		}
	}
	return ""
}

// dspFolders are where a DSP looks whatever its path says, or what a path must
// keep for it to find its own libraries.
func dspFolders() []string {
	return []string{"/system/lib/rfsa/adsp", "/system/vendor/lib/rfsa/adsp", "/dsp"}
}

// builtin are folders that the system's library looks in when no path is set.
func builtin() []string {
	return append(dspFolders(), "/vendor/lib/rfsa/adsp", "/vendor/dsp/cdsp", "/vendor/dsp", "/usr/lib/rfsa/adsp", "/usr/lib/dsp/cdsp", "/usr/lib/dsp", "/dsp/cdsp")
}

// DSPPath is what ADSP_LIBRARY_PATH has to be for skels in a folder.
func DSPPath(skels string) string { return strings.Join(append([]string{skels}, dspFolders()...), ";") }

// A Problem is what is wrong, and what to do about it.
type Problem struct{ What, Remedy string }

func (p Problem) Error() string { return p.What + ": " + p.Remedy }

// CheckDSPPath tells what is wrong with the variables by which the DSP finds its
// libraries, and the remedy of each; nothing if it will find the skel of a
// generation of HTP. skels is the folder of that skel, "" if there is none.
func (s System) CheckDSPPath(arch int, skels string) (wrong []Problem) {
	name := "ADSP_LIBRARY_PATH"
	if s.Env("DSP_LIBRARY_PATH") != "" {
		name = "DSP_LIBRARY_PATH" // which stands in the other's place where both are set
	}
	value := s.Env(name)
	say := func(format string, args ...any) {
		wrong = append(wrong, Problem{fmt.Sprintf(format, args...), dspRemedy(name, arch, skels)})
	}
	skel := fmt.Sprintf("libQnnHtpV%dSkel.so", arch)
	if value == "" {
		if !slices.ContainsFunc(builtin(), func(dir string) bool { return s.exists(path.Join(dir, skel)) }) {
			say("%s is not set, and no folder of the system has %s", name, skel)
		}
		return wrong
	}
	if s.OS != "windows" && strings.Contains(value, ":") {
		say("%s=%q is joined with \":\", which makes it the name of one folder: \";\" separates", name, value)
		return wrong
	}
	found := false
	for _, dir := range strings.Split(value, ";") {
		switch {
		case dir == "":
		case !path.IsAbs(dir) && s.OS != "windows":
			say("%s has %q, which is no absolute path", name, dir)
		case s.exists(path.Join(dir, skel)):
			found = true
		}
	}
	if !found {
		say("no folder of %s=%q has %s", name, value, skel)
	}
	return wrong
}

// dspRemedy is how a variable is set right.
func dspRemedy(name string, arch int, skels string) string {
	if skels == "" {
		skels = fmt.Sprintf("FOLDER (with lib/hexagon-v%d/unsigned/libQnnHtpV%dSkel.so of the SDK)", arch, arch)
	}
	return fmt.Sprintf("export %s='%s'", name, DSPPath(skels))
}

func (s System) exists(p string) bool {
	_, err := os.Stat(s.at(p))
	return err == nil
}
