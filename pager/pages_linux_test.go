package pager

import "testing"

func TestResident(t *testing.T) {
	for _, n := range []int64{1, 5000, 100 << 10, 3<<20 + 17, 130 << 20} {
		p, free, err := Pages(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := Resident(p); got != 0 {
			t.Errorf("%d bytes, none touched: %d resident", n, got)
		}
		p[n/2] = 1
		if got := Resident(p); got < 1 || got > min(n, hugePage) {
			t.Errorf("%d bytes, one touched: %d resident", n, got)
		}
		for i := range p {
			p[i] = 1
		}
		if got := Resident(p); got != n {
			t.Errorf("%d bytes, all touched: %d resident", n, got)
		}
		if err := free(); err != nil {
			t.Fatal(err)
		}
	}
}
