package qnn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"estream/lower/qnn/find"
	"estream/lower/qnn/native"
)

// A place is which library a device opens, and for which chip.
type place struct {
	folder  string
	library string
	build   find.Build
	soc     find.SoC // of the CPU, none
}

// find looks for the library and the chip; opening comes later.
func (d *Device) find() (place, error) {
	if err := native.Available(); err != nil {
		return place{}, err
	}
	set, err := find.Here().SearchFor(d.options.Folder, d.kind)
	if err != nil {
		return place{}, err
	}
	l, _ := set.Backend(d.kind)
	if err := l.Misfit(find.Here()); err != nil { // the system's loader ends the process for a file that was cut
		return place{}, err
	}
	at := place{folder: set.Path, library: l.Path}
	if at.build, err = l.Build(); err != nil {
		return place{}, err
	}
	if d.half() {
		if at.soc, err = chip(d.options.SoC); err != nil {
			return place{}, err
		}
	}
	return at, nil
}

// Libraries tells, without opening any, which library and chip the device is of,
// or what is missing and what to do.
func (d *Device) Libraries() (string, error) {
	at, err := d.find()
	if err != nil {
		return "", fmt.Errorf("%s: %w", d.name, err)
	}
	if at.soc.Model == 0 {
		return fmt.Sprintf("%s, QAIRT %s", at.library, at.build), nil
	}
	return fmt.Sprintf("%s, QAIRT %s, for %s", at.library, at.build, at.soc), nil
}

// chip returns the SoC of an option. Where HTP is emulated and nobody says what
// for, it is for SM8750.
func chip(option string) (find.SoC, error) {
	if option != "" {
		return ParseSoC(option)
	}
	soc, where, err := find.Here().SoC()
	if errors.Is(err, find.ErrNoHTP) {
		return ParseSoC("SM8750")
	}
	if err != nil {
		return soc, err
	}
	return halfPrecise(soc, where)
}

// ParseSoC returns the chip of a name such as SM8750, of QNN's number such as 69, or
// of a generation of HTP such as v79, of which it is the first that is known. Its
// HTP computes in half precision.
func ParseSoC(s string) (find.SoC, error) {
	if v, ok := strings.CutPrefix(s, "v"); ok {
		for _, c := range find.SoCs() {
			if strconv.Itoa(c.Arch) == v && c.Half {
				return c, nil
			}
		}
	}
	c, ok := find.ByName(s)
	if n, err := strconv.Atoi(s); err == nil {
		c, ok = find.ByModel(n)
	}
	if !ok {
		return c, fmt.Errorf("unknown chip %q: give a name such as SM8750, its number in QNN such as 69, or a generation such as v79", s)
	}
	return halfPrecise(c, s)
}

func halfPrecise(c find.SoC, said string) (find.SoC, error) {
	if !c.Half {
		return c, fmt.Errorf("%s: HTP of %s computes in whole numbers only, and graphs are made in half precision: choose another chip, such as SM8750", said, c)
	}
	return c, nil
}
