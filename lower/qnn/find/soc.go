package find

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A SoC is a chip with an HTP.
type SoC struct {
	Name  string `json:"name"`  // Qualcomm's, such as SM8750
	Model int    `json:"model"` // QNN's number of it, 69; not the kernel's
	Arch  int    `json:"arch"`  // generation of its HTP: 79 is v79
	Half  bool   `json:"half"`  // whether its HTP computes in half precision
}

func (s SoC) String() string { return fmt.Sprintf("%s (v%d)", s.Name, s.Arch) }

// SoCs lists the chips that are known. Names, generations and half precision are
// what libQnnHtp.so of QAIRT 2.51 says of each number.
func SoCs() []SoC {
	const half, whole = true, false
	return []SoC{
		{"SM8350", 30, 68, half}, {"SM7350", 32, 68, whole}, {"SM8325", 34, 68, whole}, {"SM7325", 35, 68, whole},
		{"SM8450", 36, 69, half}, {"SC8280X", 37, 68, whole}, {"SM7315", 38, 68, whole}, {"SA8295", 39, 68, half},
		{"SM7450", 41, 69, half}, {"SM8475", 42, 69, half}, {"SM8550", 43, 73, half}, {"SM6450", 50, 73, whole},
		{"SM7475", 54, 69, whole}, {"SM8650", 57, 75, half}, {"SC8380XP", 60, 73, half}, {"SM7435", 61, 73, whole},
		{"SM7550", 64, 73, whole}, {"QCS8550", 66, 73, half}, {"SM8635", 68, 73, whole}, {"SM8750", 69, 79, half},
		{"SM7675", 70, 73, whole}, {"SM7635", 73, 73, whole}, {"SM6650", 74, 73, whole}, {"SM6475", 76, 73, whole},
		{"QCM6690", 78, 73, whole}, {"QCS8300", 82, 75, half}, {"SM8735", 85, 73, whole}, {"SM7750", 86, 73, whole},
		{"SM8850", 87, 81, half}, {"SC8480XP", 88, 81, half}, {"SM8850L", 92, 81, half}, {"QCS6490", 93, 68, whole},
		{"SC8440XP", 94, 81, half}, {"SM8845", 97, 81, half}, {"SM8975", 103, 85, half},
	}
}

// aliases are other names of chips, of which the beginning counts.
func aliases() map[string]string {
	return map[string]string{"X1E": "SC8380XP", "X1P": "SC8380XP", "QCM8550": "QCS8550", "QCM6490": "QCS6490"}
}

// ErrNoHTP is wrapped by the error for a computer that shows no chip of Qualcomm's.
var ErrNoHTP = errors.New("no Qualcomm chip was found")

// ByModel returns the chip of QNN's number.
func ByModel(model int) (SoC, bool) {
	list := SoCs()
	i := slices.IndexFunc(list, func(s SoC) bool { return s.Model == model })
	if i < 0 {
		return SoC{}, false
	}
	return list[i], true
}

// ByName returns the chip of a name such as sm8650, SM8650-AC or X1E80100: the
// longest name that it begins with.
func ByName(name string) (found SoC, ok bool) {
	name = strings.ToUpper(strings.TrimSpace(name))
	list := SoCs()
	for alias, of := range aliases() {
		if strings.HasPrefix(name, alias) {
			name = of
		}
	}
	for _, s := range list {
		if strings.HasPrefix(name, s.Name) && len(s.Name) > len(found.Name) {
			found, ok = s, true
		}
	}
	return found, ok
}

// byKernel returns the name of the chip that Linux gives a number, "" if it is none
// of those that are known.
func byKernel(id string) string {
	n, err := strconv.Atoi(id)
	if err != nil {
		return ""
	}
	return map[int]string{
		415: "SM8350", 439: "SM8350", 449: "SC8280X", 457: "SM8450", 475: "SM7325", 480: "SM8450", 482: "SM8450", 497: "QCS6490", 498: "QCS6490",
		519: "SM8550", 530: "SM8475", 531: "SM8475", 536: "SM8550", 540: "SM8475", 555: "SC8380XP", 557: "SM8650", 603: "QCS8550", 604: "QCS8550",
		614: "SM8635", 618: "SM8750", 639: "SM8750", 655: "SM8735", 660: "SM8850", 685: "SM8845",
	}[n]
}

// SoC returns the chip of the system and where its name was read. The error wraps
// ErrNoHTP where nothing speaks of a chip of Qualcomm's.
func (s System) SoC() (SoC, string, error) {
	said := s.chipNames()
	for _, n := range said {
		if c, ok := ByName(n.name); ok {
			return c, n.where, nil
		}
	}
	for _, n := range said {
		if n.qualcomm {
			return SoC{}, n.where, fmt.Errorf("%s says %s, which is no chip that is known to have an HTP: set ESTREAM_QNN_SOC to one of the same generation, such as SM8750", n.where, n.name)
		}
	}
	return SoC{}, "", fmt.Errorf("%w: programs run on the processor, or on the emulation of HTP in x86-64's libraries", ErrNoHTP)
}

// A chipName is what a place of the system calls its chip.
type chipName struct {
	where, name string
	qualcomm    bool
}

// chipNames lists what the system says of its chip, the surest first.
func (s System) chipNames() (out []chipName) {
	add := func(where, name string, qualcomm bool) {
		if name != "" {
			out = append(out, chipName{where, name, qualcomm})
		}
	}
	ours := func(name string) bool { return slices.Contains([]string{"QTI", "Qualcomm", "QUALCOMM"}, name) }
	add("ro.soc.model", s.Property("ro.soc.model"), ours(s.Property("ro.soc.manufacturer")))
	snapdragon := s.Text("/sys/devices/soc0/family") == "Snapdragon"
	add("/sys/devices/soc0/machine", s.Text("/sys/devices/soc0/machine"), snapdragon)
	id := s.Text("/sys/devices/soc0/soc_id")
	if name := byKernel(id); name != "" && snapdragon {
		add("/sys/devices/soc0/soc_id", name, true)
	} else if snapdragon {
		add("/sys/devices/soc0/soc_id", id, true)
	}
	for _, c := range strings.Split(s.Text("/proc/device-tree/compatible"), "\x00") {
		if name, ok := strings.CutPrefix(c, "qcom,"); ok {
			add("/proc/device-tree/compatible", name, true)
		}
	}
	return out
}

// Text is what a small file holds, without space around it, "" if it cannot be read.
func (s System) Text(path string) string {
	read := s.Read
	if read == nil {
		read = func(path string) ([]byte, error) { return os.ReadFile(s.at(path)) }
	}
	b, err := read(path)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(bytes.TrimRight(b, "\x00")))
}
