package layout

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// verifyStructure proves that the accessors of package fb stay within buf, which
// is at most MaxManifest long, whatever they are asked. It follows the schema,
// so its depth is the schema's. All it reaches is together no longer than buf:
// offsets that meet or cross cannot make a small manifest large in memory.
func verifyStructure(buf []byte) error {
	v := &verifier{buf: buf, left: uint64(len(buf))}
	if len(buf) < 8 {
		return malformed("%d bytes are too short for a manifest", len(buf))
	}
	if id := string(buf[4:8]); id != Identifier {
		return malformed("identifier %q is not %q", id, Identifier)
	}
	root, err := v.follow(0)
	if err != nil {
		return err
	}
	return v.table(root, manifestTable())
}

type verifier struct {
	buf  []byte
	left uint64 // bytes not yet reached
}

func malformed(format string, args ...any) *Error {
	return &Error{File: ManifestName, Rule: fmt.Sprintf(format, args...)}
}

// within checks that n bytes at pos are there, and pos is a multiple of align.
func (v *verifier) within(pos, n, align uint64) error {
	if size := uint64(len(v.buf)); pos > size || n > size-pos {
		return malformed("%d bytes at %d run past the end, %d", n, pos, size)
	}
	if pos%align != 0 {
		return malformed("position %d is not a multiple of %d", pos, align)
	}
	return nil
}

// claim is within, for bytes that will be copied.
func (v *verifier) claim(pos, n, align uint64) error {
	if err := v.within(pos, n, align); err != nil {
		return err
	}
	if n > v.left {
		return malformed("%d bytes at %d are part of two things", n, pos)
	}
	v.left -= n
	return nil
}

func (v *verifier) u16(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint16(v.buf[pos:]))
}

func (v *verifier) u32(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint32(v.buf[pos:]))
}

// follow gives where the offset at pos leads, somewhere with at least the four
// bytes that every target starts with.
func (v *verifier) follow(pos uint64) (uint64, error) {
	if err := v.within(pos, 4, 4); err != nil {
		return 0, err
	}
	to := pos + v.u32(pos)
	return to, v.within(to, 4, 4)
}

func (v *verifier) table(pos uint64, t *table) error {
	back := int64(int32(v.u32(pos)))
	vtable := uint64(int64(pos) - back) // wraps far past the end if negative
	if err := v.within(vtable, 4, 2); err != nil {
		return under(t.name+" vtable", err)
	}
	slots, size := v.u16(vtable), v.u16(vtable+2)
	if slots < 4 || slots%2 != 0 || size < 4 {
		return malformed("%s vtable: lengths %d and %d are impossible", t.name, slots, size)
	}
	if err := v.within(vtable, slots, 2); err != nil {
		return under(t.name+" vtable", err)
	}
	if err := v.claim(pos, size, 4); err != nil {
		return under(t.name, err)
	}
	for i, f := range t.fields {
		slot := 4 + 2*uint64(i)
		if slot >= slots {
			break // written before the field was added
		}
		off := v.u16(vtable + slot)
		if off == 0 {
			continue
		}
		if off < 4 || off+f.width() > size {
			return under(f.name, malformed("position %d lies outside its table of %d bytes", off, size))
		}
		if err := v.field(pos+off, f); err != nil {
			return under(f.name, err)
		}
	}
	return nil
}

// width is the length of the field within its table.
func (f field) width() uint64 {
	if f.kind == scalar {
		return f.size
	}
	return 4
}

func (v *verifier) field(pos uint64, f field) error {
	if f.kind == scalar {
		return v.within(pos, f.size, f.size)
	}
	to, err := v.follow(pos)
	if err != nil {
		return err
	}
	switch f.kind {
	case text:
		return v.text(to)
	case scalars:
		return v.vector(to, f.size)
	}
	if err := v.vector(to, 4); err != nil {
		return err
	}
	for i := range v.u32(to) {
		if err := v.element(to+4+4*i, f); err != nil {
			return under(fmt.Sprint(i), err)
		}
	}
	return nil
}

func (v *verifier) element(pos uint64, f field) error {
	to, err := v.follow(pos)
	if err != nil {
		return err
	}
	if f.kind == texts {
		return v.text(to)
	}
	return v.table(to, f.of)
}

// vector claims a length and as many elements of size bytes, four at most.
func (v *verifier) vector(pos, size uint64) error {
	return v.claim(pos, 4+v.u32(pos)*size, 4)
}

func (v *verifier) text(pos uint64) error {
	n := v.u32(pos)
	if err := v.claim(pos, 4+n+1, 4); err != nil {
		return err
	}
	if v.buf[pos+4+n] != 0 {
		return malformed("string at %d has no final zero", pos)
	}
	return nil
}

// under puts where before the thing that an error of malformed is about.
func under(where string, err error) error {
	e := *err.(*Error)
	e.Thing = strings.TrimSuffix(where+"."+e.Thing, ".")
	return &e
}
