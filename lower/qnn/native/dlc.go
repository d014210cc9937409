package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrDLCForm is of a DLC whose graphs are of another form than QAIRT 2 writes.
var ErrDLCForm = errors.New("graphs of another form than QAIRT 2 writes")

// ReadDLC returns the graphs of a DLC, from the part of its archive that is named
// "model", with their inputs and outputs; ErrDLCForm if it is of an older form. It needs
// no library. Encodings are left out.
//
// The part is a header of 8 bytes and a FlatBuffer: a table whose field 0 lists the
// graphs. A graph's field 0 is its name, 2 lists its tensors; a tensor's are 0 its
// number, 1 its name, 2 its Kind, 3 its extents and 6 its DType.
func ReadDLC(model []byte) ([]Signature, error) {
	if !bytes.HasPrefix(model, []byte(dlcHeader)) {
		return nil, fmt.Errorf("the part begins with %.4q, want %q: %w", model, dlcHeader, ErrDLCForm)
	}
	f := flat{text: string(model[min(len(model), dlcHeaderSize):])}
	f.left = len(f.text) / leastTensor
	var graphs []Signature
	for _, g := range f.tables(f.follow(0), 0) {
		s := Signature{Graph: f.str(f.field(g, 0))}
		for _, t := range f.tables(g, 2) {
			s.add(f.port(t))
		}
		graphs = append(graphs, s)
		if f.err != nil {
			return nil, f.err
		}
	}
	return graphs, f.err
}

const (
	dlcHeader     = "\xd5\x0a\x04\x00" // a magic number and the version of the form
	dlcHeaderSize = 8
	leastTensor   = 8  // bytes that a tensor has at least: its place in a list, and its table
	maxRank       = 16 // which no tensor of the library's reaches
)

func (s *Signature) add(p Port) {
	if p.Kind == AppWrite || p.Kind == appReadWrite {
		s.In = append(s.In, p)
	}
	if p.Kind == AppRead || p.Kind == appReadWrite {
		s.Out = append(s.Out, p)
	}
}

// appReadWrite is the Kind of what is an input and an output.
const appReadWrite Kind = 2

// flat reads a FlatBuffer whose content is not trusted. Places are offsets into it, 0
// that of a field that is left out. After an error all is empty.
type flat struct {
	text string // so that names need no copies
	left int    // tables that lists may still have: lists that overlap would have more
	err  error
}

func (f *flat) port(table int) Port {
	p := Port{ID: f.number(table, 0)}
	p.Name, p.Kind, p.Type = f.str(f.field(table, 1)), Kind(f.number(table, 2)), DType(f.number(table, 6))
	first, n := f.list(f.field(table, 3))
	if n > maxRank {
		f.fail(first)
		return p
	}
	for i := range n {
		p.Dims = append(p.Dims, int(f.word(first+4*i)))
	}
	return p
}

// tables are what a table's field lists.
func (f *flat) tables(table, field int) []int {
	first, n := f.list(f.field(table, field))
	if f.left -= n; f.left < 0 {
		f.fail(first)
	}
	if f.err != nil {
		return nil
	}
	list := make([]int, n)
	for i := range list {
		list[i] = f.follow(first + 4*i)
	}
	return list
}

// field is where a table has a field, as the table's index of fields tells.
func (f *flat) field(table, field int) int {
	index := table - int(int32(f.word(table)))
	entry := 4 + 2*field
	if f.err != nil || entry+2 > int(f.half(index)) {
		return 0
	}
	if at := int(f.half(index + entry)); at != 0 {
		return table + at
	}
	return 0
}

// number is a field's, 0 if it is left out.
func (f *flat) number(table, field int) uint32 {
	if at := f.field(table, field); at != 0 {
		return f.word(at)
	}
	return 0
}

func (f *flat) follow(at int) int { return at + int(f.word(at)) }

// list is the first element and the number of those that a field refers to, words.
func (f *flat) list(field int) (first, n int) { return f.vector(field, 4) }

func (f *flat) str(field int) string {
	first, n := f.vector(field, 1)
	return f.text[first : first+n]
}

func (f *flat) vector(field, size int) (first, n int) {
	if field == 0 {
		return 0, 0
	}
	at := f.follow(field)
	n = int(f.word(at))
	if f.err == nil && (n < 0 || n > (len(f.text)-at-4)/size) {
		f.fail(at)
	}
	if f.err != nil {
		return 0, 0
	}
	return at + 4, n
}

func (f *flat) word(at int) uint32 {
	if !f.has(at, 4) {
		return 0
	}
	return binary.LittleEndian.Uint32([]byte(f.text[at : at+4]))
}

func (f *flat) half(at int) uint16 {
	if !f.has(at, 2) {
		return 0
	}
	return binary.LittleEndian.Uint16([]byte(f.text[at : at+2]))
}

func (f *flat) has(at, n int) bool {
	if f.err == nil && (at < 0 || at > len(f.text)-n) {
		f.fail(at)
	}
	return f.err == nil
}

func (f *flat) fail(at int) {
	if f.err == nil {
		f.err = fmt.Errorf("damaged: nothing of a graph can stand at %d of %d bytes", at+dlcHeaderSize, len(f.text)+dlcHeaderSize)
	}
}
