package layout

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"estream/pager/crc32c"
)

// maxCompanion bounds the companions that Companion reads.
const maxCompanion = 256 << 20

// Companion returns the contents of a file that the package keeps beside its
// weights, after comparing them with its checksum. A file that the manifest does
// not list is fs.ErrNotExist, whatever lies in the folder.
func (p *Package) Companion(name string) ([]byte, error) {
	i := slices.IndexFunc(p.Manifest.Files, func(f FileSum) bool { return f.Name == name })
	if i < 0 || name == ExpertsName || name == DenseName {
		return nil, fmt.Errorf("package %s: no companion %s: %w", p.Dir, name, fs.ErrNotExist)
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, size, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	want := p.Manifest.Files[i]
	if size != want.Size || size > maxCompanion {
		return nil, &Error{name, "", fmt.Sprintf("has %d bytes, %d in the manifest: copy the package again", size, want.Size)}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if got := crc32c.Checksum(data); got != want.CRC {
		return nil, &Error{name, "", fmt.Sprintf("CRC-32C is %08x, %08x was written: copy the package again", got, want.CRC)}
	}
	return data, nil
}
