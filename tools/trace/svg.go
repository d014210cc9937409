package trace

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// The drawing's sizes, in pixels.
const (
	svgWidth  = 1000
	svgLeft   = 110
	svgRight  = 12
	svgTop    = 58
	rowHeight = 22
	barHeight = 16
	finest    = 0.4 // slices of one colour that are closer are one
)

// colours of layers, in turn: those of Okabe and Ito that differ for everybody, on
// white and beside each other.
var colours = [...]string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"}

const (
	endsColour = "#555555" // of the embeddings and the head
	waitColour = "#c00000"
)

// A row of the drawing.
type row struct {
	label  string
	slices []Slice
	style  func(Slice) string // beside the colour; empty: solid
	least  float64            // width of a bar, in pixels
}

// A drawing is a timeline as SVG, of the time from and to.
type drawing struct {
	w        strings.Builder
	from, to time.Duration
	layers   int // of the model, as far as programs tell
	y        int
}

// SVG draws the part of a timeline from one time to another: a row for each reader,
// dense slot and bank, for programs and for waits, and a colour for each layer.
func (t *Timeline) SVG(w io.Writer, title string, from, to time.Duration) error {
	d := &drawing{from: from, to: max(to, from+time.Microsecond), layers: t.head(), y: svgTop}
	rows := t.drawn(from, to)
	height := svgTop + len(rows)*rowHeight + 44
	fmt.Fprintf(&d.w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", svgWidth, height, svgWidth, height)
	fmt.Fprintf(&d.w, `<rect width="%d" height="%d" fill="white"/>`+"\n", svgWidth, height)
	d.text(svgLeft, 18, "start", "14", title)
	d.legend()
	d.grid(len(rows))
	for _, r := range rows {
		d.row(r)
	}
	d.w.WriteString("</svg>\n")
	_, err := io.WriteString(w, d.w.String())
	return err
}

// head is the number that the head has as a layer: the largest; 0 where none ran.
func (t *Timeline) head() int {
	head := 0
	for _, p := range t.Programs {
		if strings.HasPrefix(p.Graph, "head.") {
			return p.Layer
		}
		head = max(head, p.Layer+1)
	}
	return head
}

// drawn are the rows that have something in a span of time; drops and waits last.
func (t *Timeline) drawn(from, to time.Duration) []row {
	var rows []row
	numbered := func(name string, all [][]Slice, style func(Slice) string) {
		for i, s := range all {
			rows = append(rows, row{fmt.Sprintf("%s %d", name, i), s, style, 0})
		}
	}
	solid := func(Slice) string { return "" }
	numbered("flash read", t.Readers, solid)
	numbered("dense slot", t.Slots, cellStyle)
	numbered("bank", t.Banks, cellStyle)
	var dense, experts []Slice
	for _, p := range t.Programs {
		if phase(p.Graph) == "experts" {
			experts = append(experts, p)
		} else {
			dense = append(dense, p)
		}
	}
	rows = append(rows, row{"compute: dense", dense, solid, 0}, row{"compute: experts", experts, solid, 0}, row{"waits", t.Waits, waitStyle, 0}, row{"dropped", t.Drops, solid, 2})
	return slices.DeleteFunc(rows, func(r row) bool {
		return !slices.ContainsFunc(r.slices, func(s Slice) bool { return s.End >= from && s.Start <= to })
	})
}

// cellStyle tells the states of a cell apart.
func cellStyle(s Slice) string {
	return map[string]string{"filling": `fill-opacity="0.45"`, "ready": `fill-opacity="0.15"`}[s.Name]
}

func waitStyle(Slice) string { return waitColour }

func (d *drawing) x(t time.Duration) float64 {
	t = min(max(t, d.from), d.to)
	return svgLeft + float64(t-d.from)/float64(d.to-d.from)*(svgWidth-svgLeft-svgRight)
}

func (d *drawing) text(x, y float64, anchor, size, s string) {
	fmt.Fprintf(&d.w, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%s">%s</text>`+"\n", x, y, anchor, size, escape(s))
}

// escape is text as XML, without the characters that XML has not.
func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}

func (d *drawing) colour(layer int) string {
	if layer < 0 || layer >= d.layers {
		return endsColour
	}
	return colours[layer%len(colours)]
}

// legend says what colours and shades are.
func (d *drawing) legend() {
	x := float64(svgLeft)
	entry := func(fill, text string) {
		fmt.Fprintf(&d.w, `<rect x="%.1f" y="28" width="12" height="12" %s/>`+"\n", x, fill)
		d.text(x+16, 38, "start", "11", text)
		x += 32 + 6.1*float64(len(text))
	}
	for i, c := range colours {
		text := fmt.Sprintf("layer %d", i)
		if i+len(colours) < d.layers {
			text = fmt.Sprintf("%d, %d, ..", i, i+len(colours))
			if i == 0 {
				text = "layer " + text
			}
		}
		if i < d.layers {
			entry(fmt.Sprintf(`fill="%s"`, c), text)
		}
	}
	entry(fmt.Sprintf(`fill="%s"`, endsColour), "embed, head")
	entry(`fill="#0072b2" fill-opacity="0.45"`, "filling")
	entry(`fill="#0072b2" fill-opacity="0.15"`, "ready")
	entry(`fill="#0072b2"`, "in use")
	entry(fmt.Sprintf(`fill="%s"`, waitColour), "waiting")
}

// grid draws lines at round times, and the axis.
func (d *drawing) grid(rows int) {
	bottom := svgTop + rows*rowHeight
	step := roundTime((d.to - d.from) / 8)
	for at := (d.from + step - 1) / step * step; at <= d.to; at += step {
		fmt.Fprintf(&d.w, `<path d="M%.1f %dV%d" stroke="#dddddd"/>`+"\n", d.x(at), svgTop-4, bottom+2)
		d.text(d.x(at), float64(bottom+16), "middle", "11", inUnit(at, step))
	}
	d.text((svgLeft+svgWidth-svgRight)/2, float64(bottom+34), "middle", "11", "time since the trace began")
}

// roundTime is the next 1, 2 or 5 times a power of ten above a time.
func roundTime(t time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if m*unit >= t {
				return m * unit
			}
		}
	}
}

// inUnit prints a time in the unit that steps of a size read best in.
func inUnit(t, step time.Duration) string {
	switch {
	case step >= 100*time.Millisecond:
		return fmt.Sprintf("%.4g s", t.Seconds())
	case step >= 100*time.Microsecond:
		return fmt.Sprintf("%.6g ms", float64(t)/1e6)
	}
	return fmt.Sprintf("%.6g µs", float64(t)/1e3)
}

// row draws a row. Of slices too narrow to be told apart those of one colour are drawn
// as one, and of others the first.
func (d *drawing) row(r row) {
	y := d.y
	d.y += rowHeight
	d.text(svgLeft-6, float64(y+barHeight-4), "end", "11", r.label)
	fmt.Fprintf(&d.w, `<path d="M%d %dH%d" stroke="#eeeeee"/>`+"\n", svgLeft, y+barHeight, svgWidth-svgRight)
	drawn := 0.0 // up to here
	for i := 0; i < len(r.slices); {
		s, n := r.slices[i], 1
		for i+n < len(r.slices) && d.mergeable(r, s, r.slices[i+n]) {
			s.End = max(s.End, r.slices[i+n].End)
			n++
		}
		i += n
		if end := d.x(s.End); s.End >= d.from && s.Start <= d.to && end >= drawn+finest {
			d.bar(r, s, n, y)
			drawn = end
		}
	}
}

// mergeable reports whether two slices look alike and touch, and the second is too
// narrow to be seen.
func (d *drawing) mergeable(r row, s, next Slice) bool {
	return next.Layer == s.Layer && r.style(next) == r.style(s) && d.x(next.Start)-d.x(s.End) < finest && d.x(next.End)-d.x(next.Start) < 4*finest
}

func (d *drawing) bar(r row, s Slice, n, y int) {
	x, width := d.x(s.Start), max(d.x(s.End)-d.x(s.Start), r.least, finest)
	fill := d.colour(s.Layer)
	style := r.style(s)
	if style == waitColour {
		fill, style = waitColour, ""
	}
	what := s.Name
	if s.Records != "" && s.Records != s.Name {
		what = s.Records + " " + s.Name
	}
	if n > 1 {
		what = fmt.Sprintf("%d from %s", n, what)
	}
	fmt.Fprintf(&d.w, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" %s><title>%s, %s to %s</title></rect>`+"\n", x, y, width, barHeight, fill, style,
		escape(what), fine(s.Start), fine(s.End))
	if text := caption(s); n == 1 && style == "" && width > 6.2*float64(len(text))+4 {
		fmt.Fprintf(&d.w, `<text x="%.1f" y="%d" text-anchor="middle" font-size="10" fill="%s" pointer-events="none">%s</text>`+"\n", x+width/2, y+12, ink(fill), escape(text))
	}
}

// ink is what can be read on a colour.
func ink(fill string) string {
	if fill == "#e69f00" || fill == "#cc79a7" || fill == "#56b4e9" {
		return "black"
	}
	return "white"
}

func fine(t time.Duration) string { return fmt.Sprintf("%.3f ms", float64(t)/1e6) }

// caption is what fits into a bar.
func caption(s Slice) string {
	if s.Graph != "" {
		return phase(s.Graph)
	}
	_, after, ok := strings.Cut(s.Records, "experts ")
	if ok {
		return after
	}
	if strings.Contains(s.Records, "dense") {
		return "dense"
	}
	return "rows"
}
