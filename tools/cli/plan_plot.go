package cli

import (
	"fmt"
	"html"
	"math"
	"path/filepath"
	"strings"

	"estream/runtime/planner"
)

// The plot's size and margins.
const (
	plotWidth, plotHeight = 720, 440
	plotLeft, plotBottom  = 64, 48
	plotRight, plotTop    = 40, 40
)

// A drawing is an SVG of time against memory, memory on a scale of powers of two.
type drawing struct {
	strings.Builder
	low, high  float64 // powers of two of bytes
	most, step float64 // seconds
}

// plot is the file that a plot's name asks for: an SVG, or a page of it with text below.
func (p *plans) plot(ext, text string) []byte {
	title := filepath.Base(p.dir) + ": predicted time to the first token"
	svg := draw(title, p.lengths)
	if ext != ".html" {
		return svg
	}
	return fmt.Appendf(nil, `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"/><title>%s</title></head>
<body style="max-width:1080px;margin:auto">
%s<pre style="overflow:auto">%s</pre>
</body>
</html>
`, html.EscapeString(title), svg, html.EscapeString(text))
}

// draw draws for each length of prompt a solid line of the first run and a dashed one of those after it: the least time in
// so much memory.
func draw(title string, lengths []planned) []byte {
	d := &drawing{low: math.Inf(1)}
	for _, x := range lengths {
		for _, c := range x.frontier {
			n := math.Log2(float64(c.Plan.Bytes()))
			d.low, d.high, d.most = min(d.low, math.Floor(n)), max(d.high, math.Floor(n)+1), max(d.most, c.First.Time.Seconds(), c.Next.Time.Seconds())
		}
	}
	d.step = math.Pow(10, math.Floor(math.Log10(max(d.most, 1e-6))))
	if d.most < 4*d.step {
		d.step /= 4
	}
	d.most = d.step * math.Ceil(d.most/d.step)
	fmt.Fprintf(d, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(d, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	d.grid(title)
	for i, x := range lengths {
		colour := [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}[i%6]
		d.curve(x, colour, "", func(c planner.Choice) float64 { return c.First.Time.Seconds() })
		d.curve(x, colour, ` stroke-dasharray="5 3"`, func(c planner.Choice) float64 { return c.Next.Time.Seconds() })
		y := float64(plotTop + 8 + 16*i)
		fmt.Fprintf(d, `<path d="M%d %.1fh20" stroke="%s" stroke-width="2"/>`+"\n", plotWidth-plotRight-110, y, colour)
		d.text(plotWidth-plotRight-84, y+4, "start", fmt.Sprintf("%d tokens", x.tokens))
	}
	d.WriteString("</svg>\n")
	return []byte(d.String())
}

func (d *drawing) x(power float64) float64 {
	return plotLeft + (power-d.low)/(d.high-d.low)*(plotWidth-plotLeft-plotRight)
}

func (d *drawing) y(seconds float64) float64 {
	return plotHeight - plotBottom - seconds/d.most*(plotHeight-plotTop-plotBottom)
}

func (d *drawing) text(x, y float64, anchor, s string) {
	fmt.Fprintf(d, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(s))
}

func (d *drawing) grid(title string) {
	d.text(plotLeft, 20, "start", title)
	for e := d.low; e <= d.high; e++ {
		fmt.Fprintf(d, `<path d="M%.1f %dV%d" stroke="#ddd"/>`+"\n", d.x(e), plotTop, plotHeight-plotBottom)
		d.text(d.x(e), plotHeight-plotBottom+16, "middle", formatSize(int64(math.Exp2(e))))
	}
	for s := 0.0; s < d.most+d.step/2; s += d.step {
		fmt.Fprintf(d, `<path d="M%d %.1fH%d" stroke="#ddd"/>`+"\n", plotLeft, d.y(s), plotWidth-plotRight)
		d.text(plotLeft-6, d.y(s)+4, "end", fmt.Sprintf("%.4g s", s))
	}
	d.text((plotLeft+plotWidth-plotRight)/2, plotHeight-10, "middle", "resident memory; solid: first run of a process, dashed: those after it")
}

// curve draws one time of a length's choices.
func (d *drawing) curve(x planned, colour, dash string, time func(planner.Choice) float64) {
	var line []string
	least := math.Inf(1)
	for _, c := range x.frontier {
		if time(c) >= least {
			continue
		}
		least = time(c)
		px, py, g := d.x(math.Log2(float64(c.Plan.Bytes()))), d.y(least), c.Plan.Geometry
		line = append(line, fmt.Sprintf("%.1f,%.1f", px, py))
		fmt.Fprintf(d, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%.3f s in %s: Q=%d B=%d G=%d</title></circle>`+"\n",
			px, py, colour, least, formatSize(c.Plan.Bytes()), c.Plan.Readers, g.Banks, g.Group)
	}
	fmt.Fprintf(d, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.5"%s/>`+"\n", strings.Join(line, " "), colour, dash)
}
