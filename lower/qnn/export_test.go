package qnn

import "strings"

// Places returns how many places in regions are registered.
func (d *Device) Places() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.spots)
}

// library is the file's name on Linux.
func (t *target) library() string { return "libQnn" + strings.ToUpper(t.kind[:1]) + t.kind[1:] + ".so" }
