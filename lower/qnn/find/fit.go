package find

import "fmt"

// A Target is what a context binary has been made for, or what a device has. What
// is not known is zero.
type Target struct {
	Arch  int   // generation of HTP: 79 is v79
	Build Build // of QAIRT
}

func (t Target) String() string {
	if t.Arch == 0 {
		return "HTP of unknown generation, QAIRT " + t.Build.String()
	}
	return fmt.Sprintf("HTP v%d, QAIRT %s", t.Arch, t.Build)
}

// A Misfit is a context binary that must not be loaded on a device.
type Misfit struct {
	Binary       string // its name
	Made, Device Target
	Reason       string // what differs
	Remedy       string
}

func (m *Misfit) Error() string {
	return fmt.Sprintf("%s: made for %s; the device has %s: %s: %s", m.Binary, m.Made, m.Device, m.Reason, m.Remedy)
}

// Newer reports whether the binary is by a newer QAIRT than the device has.
func (m *Misfit) Newer() bool { return newer(m.Made, m.Device) }

func newer(made, device Target) bool {
	return made.Build.Known() && device.Build.Known() && made.Build.Compare(device.Build) > 0
}

// Fit returns nil if a context binary may be loaded on a device, else a *Misfit: it
// must be for the same generation of HTP, and by no newer QAIRT than the device
// has. What is unknown of either is not compared: loading it will tell.
func Fit(binary string, made, device Target) error {
	m := &Misfit{Binary: binary, Made: made, Device: device}
	switch {
	case made.Arch != 0 && device.Arch != 0 && made.Arch != device.Arch:
		m.Reason = "another generation"
		m.Remedy = fmt.Sprintf("make it anew for v%d, or prepare graphs on the device", device.Arch)
	case newer(made, device):
		m.Reason = "a newer QAIRT"
		m.Remedy = fmt.Sprintf("put libraries of %s or later on the device, or make it anew with %s", made.Build, device.Build)
	default:
		return nil
	}
	return m
}
