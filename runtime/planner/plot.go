package planner

import (
	"fmt"
	"math"
	"strings"
)

// A Curve is a line of a plot: choices by rising memory.
type Curve struct {
	Name    string
	Choices []Choice
}

// The plot's size and margins, and the colours of its curves.
const (
	width, height = 720, 440
	left, bottom  = 64, 48
	right, top    = 24, 40
)

// Plot draws latency against memory as SVG, memory on a scale of powers: for each curve a solid line of the first run and
// a dashed one of those after it.
func Plot(title string, curves []Curve) []byte {
	low, high, most := math.Inf(1), 0.0, 0.0
	for _, c := range curves {
		for _, x := range c.Choices {
			low, high = min(low, math.Log2(float64(x.Plan.Bytes()))), max(high, math.Log2(float64(x.Plan.Bytes())))
			most = max(most, x.First.Time.Seconds())
		}
	}
	low, high = math.Floor(low), max(math.Floor(low)+1, math.Ceil(high))
	step := math.Pow(10, math.Floor(math.Log10(max(most, 1e-9))))
	if most/step < 4 {
		step /= 4
	}
	most = step * math.Ceil(most/step)
	at := func(x Choice, seconds float64) (px, py float64) {
		px = left + (math.Log2(float64(x.Plan.Bytes()))-low)/(high-low)*(width-left-right)
		return px, height - bottom - seconds/most*(height-top-bottom)
	}
	var b strings.Builder
	text := func(x, y float64, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, s)
	}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	text(left, 20, "start", escape(title))
	for e := low; e <= high; e++ {
		x := left + (e-low)/(high-low)*(width-left-right)
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/>`+"\n", x, top, height-bottom)
		text(x, height-bottom+16, "middle", memory(math.Exp2(e)))
	}
	for s := 0.0; s <= most+step/2; s += step {
		y := height - bottom - s/most*(height-top-bottom)
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/>`+"\n", left, y, width-right)
		text(left-6, y+4, "end", fmt.Sprintf("%.4g s", s))
	}
	text((left+width-right)/2, height-10, "middle", "resident memory; solid: first run of a process, dashed: those after it")
	for i, c := range curves {
		colour := [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}[i%6]
		for _, dash := range []string{"", ` stroke-dasharray="5 3"`} {
			var line []string
			for _, x := range c.Choices {
				t := x.First
				if dash != "" {
					t = x.Next
				}
				px, py := at(x, t.Time.Seconds())
				line = append(line, fmt.Sprintf("%.1f %.1f", px, py))
				g := x.Plan.Geometry
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %.3f s, %s, Q=%d B=%d G=%d</title></circle>`+"\n",
					px, py, colour, escape(c.Name), t.Time.Seconds(), memory(float64(x.Plan.Bytes())), x.Plan.Readers, g.Banks, g.Group)
			}
			fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>`+"\n", strings.Join(line, " "), colour, dash)
		}
		y := float64(top + 8 + 16*i)
		fmt.Fprintf(&b, `<path d="M%d %.1fh20" stroke="%s" stroke-width="2"/>`+"\n", width-right-120, y, colour)
		text(width-right-94, y+4, "start", escape(c.Name))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

func memory(bytes float64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%.4g MiB", bytes/(1<<20))
	}
	return fmt.Sprintf("%.4g GiB", bytes/(1<<30))
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
