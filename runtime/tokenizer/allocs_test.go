package tokenizer

import (
	"strings"
	"testing"
)

// A word costs at most an allocation or two, however many steps cut it out of the text.
func TestEncodeAllocatesLittle(t *testing.T) {
	text := ordinaryText(16 << 10)
	most := float64(2*len(strings.Fields(text)) + 1000)
	for name := range readGoldens(t).Goldens {
		tok := openGolden(t, name)
		got := testing.AllocsPerRun(2, func() {
			if _, err := tok.Encode(text, true); err != nil {
				t.Fatal(err)
			}
		})
		if got > most {
			t.Errorf("%s: %d bytes took %.0f allocations, want at most %.0f", name, len(text), got, most)
		}
	}
}
