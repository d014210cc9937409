package doctor

import (
	"errors"
	"fmt"
	"path/filepath"

	"estream/lower/qnn"
	"estream/lower/qnn/find"
)

// htp looks at the chip, and at what its HTP needs.
func (r *Report) htp(o Options, set *find.Set) {
	const area = "htp"
	s := o.System
	soc, where, err := s.SoC()
	if o.SoC != "" {
		soc, err = qnn.ParseSoC(o.SoC)
		where = "the command line"
	}
	if soc.Model != 0 {
		err = nil // of a chip without half precision, which is a note here
	}
	switch {
	case errors.Is(err, find.ErrNoHTP):
		r.add(area, "chip", Note, err.Error(), "")
		return
	case err != nil:
		r.add(area, "chip", Missing, err.Error(), "estream doctor --soc NAME, and set ESTREAM_QNN_SOC for runs")
		return
	}
	r.SoC = &soc
	value := fmt.Sprintf("%s, number %d, HTP v%d, from %s", soc.Name, soc.Model, soc.Arch, where)
	if !soc.Half {
		r.add(area, "chip", Note, value+": it has no half precision, so graphs have to be quantized", "")
	} else {
		r.add(area, "chip", OK, value, "")
	}
	if s.Arch == "amd64" { // the chip that is emulated
		return
	}
	r.nodes(s)
	r.pair(s, set, soc.Arch)
}

// nodes looks at how programs reach the DSP.
func (r *Report) nodes(s find.System) {
	const area = "htp"
	if s.OS == "windows" { // has none: its driver is asked otherwise
		return
	}
	usable, refused := "", error(nil)
	for _, n := range s.DSP() {
		if n.Err == nil && usable == "" {
			usable = n.Path
		} else if n.Err != nil {
			refused = n.Err
		}
	}
	switch {
	case usable != "":
		r.add(area, "device node", OK, usable, "")
	case refused != nil:
		remedy := "run as a user that may open it (a group of the file's, or root)"
		if s.OS == "android" {
			remedy = "run it from adb shell, as estream device run does: applications need the permissions of their own"
		}
		r.add(area, "device node", Wrong, refused.Error(), remedy)
	default:
		r.add(area, "device node", Missing, "none of /dev/fastrpc-cdsp, /dev/adsprpc-smd", "a kernel with fastrpc (CONFIG_QCOM_FASTRPC, and the DSP's node in the device tree)")
	}
	if rpc := s.RPC(); rpc != "" {
		r.add(area, "libcdsprpc.so", OK, rpc, "")
	} else {
		remedy := "install fastrpc (github.com/qualcomm/fastrpc), from the distribution or built from its source"
		if s.OS == "android" {
			remedy = "it comes with the phone's system, in /vendor/lib64: export LD_LIBRARY_PATH with its folder"
		}
		r.add(area, "libcdsprpc.so", Missing, "in no usual folder, and stubs need it", remedy)
	}
}

// pair looks at the two libraries that talk to each other across the DSP.
func (r *Report) pair(s find.System, set *find.Set, arch int) {
	const area = "htp"
	from := "copy %s from %s of the same QAIRT to the libraries"
	stub, hasStub := set.Stub(arch)
	skel, hasSkel := set.Skel(arch)
	if !hasStub {
		name := fmt.Sprintf("libQnnHtpV%dStub.so", arch)
		r.add(area, "stub", Missing, "no "+name, fmt.Sprintf(from, name, "lib/ of this system"))
	}
	folder := ""
	if hasSkel {
		folder = filepath.Dir(skel.Path)
	} else {
		name := fmt.Sprintf("libQnnHtpV%dSkel.so", arch)
		r.add(area, "skel", Missing, "no "+name+" beside the libraries", fmt.Sprintf(from, name, fmt.Sprintf("lib/hexagon-v%d/unsigned", arch)))
	}
	if hasStub && hasSkel {
		a, errA := stub.Build()
		b, errB := skel.Build()
		switch err := errors.Join(errA, errB); {
		case err != nil:
			r.add(area, "stub and skel", Wrong, err.Error(), "copy both again")
		case a.Compare(b) != 0:
			r.add(area, "stub and skel", Wrong, fmt.Sprintf("the stub is QAIRT %s, the skel %s", a, b), "copy both from one QAIRT")
		default:
			r.add(area, "stub and skel", OK, "both QAIRT "+a.String(), "")
		}
	}
	wrong := s.CheckDSPPath(arch, folder)
	for _, p := range wrong {
		r.add(area, "ADSP_LIBRARY_PATH", Wrong, p.What, p.Remedy)
	}
	if len(wrong) == 0 {
		r.add(area, "ADSP_LIBRARY_PATH", OK, "the DSP finds the skel", "")
	}
}
