package find

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
)

// Folders lists where libraries are looked for, in this order.
func (s System) Folders(named string) (out []Folder) {
	add := func(why string, paths ...string) {
		for _, p := range paths {
			out = append(out, Folder{p, why})
		}
	}
	switch {
	case named != "":
		add("the command line", s.within(named)...)
		return out
	case s.Env(Variable) != "":
		add(Variable, s.within(s.Env(Variable))...)
		return out
	}
	if s.Program != "" {
		add("beside the program", s.Program, filepath.Join(s.Program, "lib"))
	}
	if s.Cache != "" {
		for _, version := range s.newest(filepath.Join(s.Cache, "estream", "qnn")) {
			add("tools/qnn-libs", s.within(version)...)
		}
	}
	for _, name := range []string{"QAIRT_SDK_ROOT", "QNN_SDK_ROOT"} {
		if v := s.Env(name); v != "" {
			add(name, s.within(v)...)
		}
	}
	for _, root := range s.sdks() {
		for _, version := range s.newest(root) {
			add("the vendor's SDK", s.within(version)...)
		}
	}
	add("the system", s.system()...)
	return out
}

// within lists the places of libraries in a folder that was named: itself, and
// where a wheel and an SDK have them.
func (s System) within(dir string) []string {
	out := []string{dir, filepath.Join(dir, "onnxruntime_qnn")}
	for _, target := range s.targets() {
		out = append(out, filepath.Join(dir, "lib", target))
	}
	return out
}

// targets are the SDK's names of this system.
func (s System) targets() []string {
	switch s.OS + "/" + s.Arch {
	case "linux/amd64":
		return []string{"x86_64-linux-clang"}
	case "linux/arm64":
		return []string{"aarch64-oe-linux-gcc11.2", "aarch64-ubuntu-gcc9.4", "aarch64-oe-linux-gcc9.3"}
	case "android/arm64":
		return []string{"aarch64-android"}
	case "windows/arm64":
		return []string{"aarch64-windows-msvc", "arm64x-windows-msvc"}
	case "windows/amd64":
		return []string{"x86_64-windows-msvc"}
	}
	return nil
}

// sdks are the folders in which the vendor's installer puts a folder a version.
func (s System) sdks() []string {
	switch s.OS {
	case "linux":
		return []string{"/opt/qcom/aistack/qairt", "/opt/qcom/aistack/qnn"}
	case "windows":
		return []string{`C:\Qualcomm\AIStack\QAIRT`, `C:\Qualcomm\AIStack\QNN`}
	}
	return nil
}

// system are the folders of libraries that come with the system.
func (s System) system() []string {
	switch s.OS {
	case "android":
		return []string{"/vendor/lib64", "/odm/lib64", "/system/lib64"}
	case "windows":
		return []string{`C:\Windows\System32`}
	case "linux":
		triple := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[s.Arch]
		return []string{"/usr/local/lib", filepath.Join("/usr/lib", triple), "/usr/lib64", "/usr/lib"}
	}
	return nil
}

// newest lists the folders in one that has a folder a version, the latest first;
// of those that are named otherwise, the last in alphabetical order.
func (s System) newest(dir string) (out []string) {
	entries, err := os.ReadDir(s.at(dir))
	if err != nil {
		return nil // it need not be there
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int {
		x, _ := ParseBuild(a.Name()) // the zero Build is the oldest
		y, _ := ParseBuild(b.Name())
		return cmp.Or(y.Compare(x), cmp.Compare(b.Name(), a.Name()))
	})
	for _, e := range entries {
		out = append(out, filepath.Join(dir, e.Name()))
	}
	return out
}
