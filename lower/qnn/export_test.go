package qnn

// Places returns how many places in regions are registered.
func (d *Device) Places() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.spots)
}
