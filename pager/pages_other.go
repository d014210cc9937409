//go:build !unix

package pager

func allocate(n int) ([]byte, func() error, error) {
	return make([]byte, n), func() error { return nil }, nil
}

func adviseHuge([]byte) {}
