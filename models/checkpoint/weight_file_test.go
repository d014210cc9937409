package checkpoint

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestWeightFile reads large and small pieces at every kind of place, the odd end of the file too, past the page cache
// where there is such a way, and where that fails.
func TestWeightFile(t *testing.T) {
	data := make([]byte, 2*readSize+777)
	rand.NewChaCha8([32]byte{3}).Read(data)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	home, _, err := Locate(dir)
	if err != nil {
		t.Fatal(err)
	}
	w, err := home.OpenWeights("x")
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	buf := new(Buffer)
	check := func(how string) {
		for _, n := range []int{1, leastDirect - 1, leastDirect, 100_001, MostRange} {
			for _, at := range []int{0, 1, edge - 1, edge, 12345, len(data) - n} {
				got, err := w.Range(t.Context(), buf, int64(at), n)
				if err != nil || !bytes.Equal(got, data[at:at+n]) {
					t.Errorf("%s: %d bytes at %d: wrong, error %v", how, n, at, err)
				}
			}
		}
		for _, n := range []int{1, leastDirect} {
			if _, err := w.Range(t.Context(), buf, int64(len(data)-n+1), n); err == nil {
				t.Errorf("%s: %d bytes, one of them beyond the end: no error", how, n)
			}
		}
	}
	check("as opened")
	if w.direct != nil {
		w.direct.Close()
		check("direct reads fail")
	}
	w.direct = nil
	check("no direct reads")
}
