package native

import (
	"fmt"
	"strings"
	"unsafe"
)

// notSupported is QNN's code for what a library, or a backend of it, has not.
const notSupported = 1000

// An Error is a call that QNN refused.
type Error struct {
	Call   string // of the C API, such as graphAddNode
	Of     string // which graph, node, tensor or library
	Code   int    // the low 16 bits of what it returned
	Name   string // what the library calls the code, "" if it does not say
	Remedy string // what helps, "" if nothing general is known
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s: error %d", e.Of, e.Call, e.Code)
	if e.Name != "" {
		s = fmt.Sprintf("%s: %s: %s (%d)", e.Of, e.Call, e.Name, e.Code)
	}
	if e.Remedy != "" {
		s += ": " + e.Remedy
	}
	return s
}

// failure returns what a call returned as an error, nil if it is 0.
func failure(call, of string, returned uint64) error {
	if returned == 0 {
		return nil
	}
	code := int(returned & 0xffff)
	return &Error{Call: call, Of: of, Code: code, Remedy: remedy(call, code)}
}

// failure is failure, with the library's name of the code.
func (l *Library) failure(f function, of string, returned uint64) error {
	err := failure(f.String(), of, returned)
	if e, ok := err.(*Error); ok {
		text := new(*byte)
		if invoke(symbol(l.table.fn[errorGetMessage]), uintptr(e.Code), uintptr(unsafe.Pointer(text))) == 0 {
			e.Name, _, _ = strings.Cut(goString(*text), ":")
		}
	}
	return err
}

// remedy returns what helps against a code that a call returned.
func remedy(call string, code int) string {
	const see = "the library's log says why"
	switch code {
	case notSupported:
		return "this library, or the SoC it was started for, lacks the feature or the type: lower the graph otherwise"
	case 1002:
		if call == graphFinalize.String() {
			return "the graph cannot be composed, as RmsNorm without beta cannot; " + see
		}
		return "free memory"
	case 3110:
		return "not with these types, shapes and encodings, or not with weights that are bound; " + see
	case 4000:
		return "the library does not run on this machine"
	case 5000, 5004, 5005:
		return "load it with the QAIRT and the SoC it was made for, where the same graph has not been prepared"
	case 6004:
		return "give tensors the extents that the graph was finalized with"
	case 6022:
		if call == graphFinalize.String() {
			return "the graph cannot be finished, or its file not written, as where the disk is full; " + see
		}
		return "a finalized graph cannot be changed: build another"
	case 7004, 7005:
		return "the library takes no tensor of this type: 4-bit integers stand in bytes, floats of the CPU library are f32"
	case 14001:
		return "the library does not know this SoC: choose another, or a later QAIRT"
	}
	if call == systemContextGetMetaData {
		return "it is no context binary that this QAIRT reads"
	}
	return ""
}
