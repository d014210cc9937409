package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// An ADB is the program adb, which talks to devices.
type ADB struct{ path string }

// ErrNoADB is wrapped by the error where there is no adb.
var ErrNoADB = errors.New("no adb")

// Look finds adb: the one that is named, or that of PATH if the name is empty.
func Look(named string) (*ADB, error) {
	name := named
	if name == "" {
		name = "adb"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%w: install the package adb, or Android's platform-tools, or name it with --adb: %w", ErrNoADB, err)
	}
	return &ADB{path}, nil
}

// Path is where adb is.
func (a *ADB) Path() string { return a.path }

// An Attached is a device that adb knows of.
type Attached struct {
	Serial string `json:"serial"`
	State  string `json:"state"` // "device" if it can be used
	About  string `json:"about"` // what adb -l says of it
}

// Trouble says why the device cannot be used and what to do about it, nil if it can.
func (d Attached) Trouble() error {
	remedy := ""
	switch state := d.State; {
	case state == "device":
		return nil
	case state == "unauthorized" || state == "authorizing":
		remedy = "unlock it and allow USB debugging from this computer; adb kill-server asks again"
	case state == "offline":
		remedy = "plug it in again, or adb reconnect"
	case strings.HasPrefix(state, "no permissions"):
		remedy = "let your user at USB devices (Debian: android-sdk-platform-tools-common and the group plugdev), then plug it in again"
	default:
		remedy = "start its system"
	}
	return fmt.Errorf("device %s is %s: %s", d.Serial, d.State, remedy)
}

// Devices lists the devices that are attached.
func (a *ADB) Devices(ctx context.Context) ([]Attached, error) {
	out, err := a.output(ctx, "devices", "-l")
	if err != nil {
		return nil, err
	}
	var list []Attached
	for line := range strings.Lines(out) {
		serial, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if i := strings.IndexByte(serial, '\t'); i >= 0 { // adb devices without padding
			serial, rest, ok = serial[:i], serial[i+1:]+" "+rest, true
		}
		if !ok || serial == "*" || strings.HasPrefix(line, "List of devices") {
			continue
		}
		state, about, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if state == "no" { // no permissions (...); see [...]
			state, about = strings.TrimSpace(rest), ""
		}
		list = append(list, Attached{serial, state, strings.TrimSpace(about)})
	}
	return list, nil
}

// Pick returns the device of a serial number, or the only one if it is empty.
func (a *ADB) Pick(ctx context.Context, serial string) (*Device, error) {
	list, err := a.Devices(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range list {
		names = append(names, d.Serial)
		if d.Serial == serial || serial == "" && len(list) == 1 {
			return &Device{a, d.Serial}, d.Trouble()
		}
	}
	switch {
	case len(list) == 0:
		return nil, errors.New("no device is attached: plug one in and turn on USB debugging in its developer options, or adb connect HOST")
	case serial == "":
		return nil, fmt.Errorf("%d devices are attached: choose one of %s with -s", len(list), strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("no device %s is attached: choose one of %s", serial, strings.Join(names, ", "))
}

// output runs adb and returns what it prints.
func (a *ADB) output(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := a.run(ctx, &out, nil, args...)
	return out.String(), err
}

// run runs adb. What it complains of is the error, and not in stderr, where that is nil.
func (a *ADB) run(ctx context.Context, stdout, stderr io.Writer, args ...string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, a.path, args...)
	cmd.Stdout, cmd.Stderr = stdout, &said
	if stderr != nil {
		cmd.Stderr = io.MultiWriter(&said, stderr)
	}
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return explain(args, said.String(), err)
	}
	return nil
}

// explain says what a failure of adb means, and what helps.
func explain(args []string, said string, err error) error {
	said = strings.TrimSpace(said)
	for _, known := range []struct{ text, remedy string }{
		{"No space left", "free space on the device, or choose another folder with --to"},
		{"Read-only file system", "choose another folder with --to"},
		{"Permission denied", "choose a folder that the shell of the device may write, such as " + androidFolder + ", with --to"},
		{"unauthorized", "unlock the device and allow USB debugging"},
		{"offline", "plug the device in again, or adb reconnect"},
		{"not found", "plug the device in again: adb devices lists them"},
		{"no devices", "plug the device in again: adb devices lists them"},
		{"closed", "the device went away: plug it in again, and repeat the command"},
		{"cannot connect to daemon", "adb kill-server, then repeat the command"},
	} {
		if strings.Contains(said, known.text) {
			return fmt.Errorf("%s: %s: %w", said, known.remedy, err)
		}
	}
	return fmt.Errorf("adb %s: %s: %w", strings.Join(args, " "), said, err)
}
