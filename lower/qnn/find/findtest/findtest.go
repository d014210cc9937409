// Package findtest makes files that look like QNN's libraries and like programs,
// and folders of them, for tests of what looks for them.
package findtest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// An ELF is what a file says of itself.
type ELF struct {
	Machine elf.Machine
	Interp  string   // the loader that it asks for
	Needed  []string // libraries
	Text    string   // anywhere in the file, such as a version
}

// Hexagon is the processor of skels.
const Hexagon = elf.Machine(164)

// Android, Linux and Skel are libraries of a version.
func Android(build string) string {
	return ELF{Machine: elf.EM_AARCH64, Needed: []string{"libc.so"}, Text: build}.File()
}

func Linux(build string) string {
	return ELF{Machine: elf.EM_X86_64, Needed: []string{"libm.so.6", "libc.so.6"}, Text: build}.File()
}

func Skel(build string) string { return ELF{Machine: Hexagon, Text: build}.File() }

const (
	headers   = 64 // bytes of an ELF header, and of a section's
	programs  = 56
	nSections = 4
)

// File returns the bytes of such a file.
func (e ELF) File() string {
	names := "\x00.dynstr\x00.dynamic\x00.shstrtab\x00"
	libs, dynamic := "\x00", []uint64{}
	for _, n := range e.Needed {
		dynamic = append(dynamic, uint64(elf.DT_NEEDED), uint64(len(libs)))
		libs += n + "\x00"
	}
	dynamic = append(dynamic, uint64(elf.DT_NULL), 0)
	var dyn bytes.Buffer
	write(&dyn, dynamic)
	interp := e.Interp + "\x00"

	at := uint64(headers + programs)
	place := func(n int) uint64 { at += uint64(n); return at - uint64(n) }
	interpAt, namesAt, libsAt, dynAt := place(len(interp)), place(len(names)), place(len(libs)), place(dyn.Len())
	sectionsAt := place(0)

	var out bytes.Buffer
	h := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(e.Machine), Version: 1, Phoff: headers, Shoff: sectionsAt, Ehsize: headers,
		Phentsize: programs, Shentsize: headers, Shnum: nSections, Shstrndx: 3,
	}
	copy(h.Ident[:], "\x7fELF\x02\x01\x01")
	if e.Interp != "" {
		h.Phnum = 1
	}
	write(&out, h)
	write(&out, elf.Prog64{Type: uint32(elf.PT_INTERP), Off: interpAt, Filesz: uint64(len(interp)), Memsz: uint64(len(interp))})
	out.WriteString(interp + names + libs)
	out.Write(dyn.Bytes())
	write(&out, []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_STRTAB), Off: libsAt, Size: uint64(len(libs))},
		{Name: 9, Type: uint32(elf.SHT_DYNAMIC), Off: dynAt, Size: uint64(dyn.Len()), Link: 1, Entsize: 16},
		{Name: 18, Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names))},
	})
	out.WriteString(e.Text)
	return out.String()
}

// write cannot fail: v has a fixed size, and a buffer takes all.
func write(b *bytes.Buffer, v any) { _ = binary.Write(b, binary.LittleEndian, v) }

// Tree makes files by their paths under a new folder, and returns it.
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
