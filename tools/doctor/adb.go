package doctor

import (
	"context"

	"estream/tools/device"
)

// adb looks for devices that are attached, where there can be some.
func (r *Report) adb(ctx context.Context, o Options) {
	const area = "adb"
	if o.System.OS == "android" {
		return
	}
	a, err := device.Look(o.ADB)
	if err != nil {
		r.add(area, "adb", Missing, "not found: packages cannot be run on a phone from here", "apt-get install adb, or Android's platform-tools, or --adb FILE")
		return
	}
	r.add(area, "adb", OK, a.Path(), "")
	list, err := a.Devices(ctx)
	if err != nil {
		r.add(area, "devices", Wrong, err.Error(), "adb kill-server, then adb devices")
		return
	}
	if len(list) == 0 {
		r.add(area, "devices", Note, "none is attached", "")
	}
	for _, d := range list {
		if err := d.Trouble(); err != nil {
			r.add(area, "device "+d.Serial, Wrong, d.State, err.Error())
		} else {
			r.add(area, "device "+d.Serial, OK, d.About, "")
		}
	}
}
