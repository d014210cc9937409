package passes

// A Cost is what the experts of a call take, in seconds, on a device of static
// graphs and on the host.
type Cost struct {
	Launch float64 `json:"launch_s"` // a call of a graph, whatever it holds
	Body   float64 `json:"body_s"`   // an expert in it, whatever its rows: its weights are read
	Row    float64 `json:"row_s"`    // a row, real or padded

	HostExpert float64 `json:"host_expert_s"` // an expert on the host, whatever its rows
	HostRow    float64 `json:"host_row_s"`    // a row there
}

// AssumedCost is of experts of so many bytes and weights on a phone: a call takes
// 150 us, the device reads 40 GB/s and multiplies 2e12 pairs a second, the host
// 20 GB/s and 1e11. No phone was measured.
func AssumedCost(bytes, weights int64) Cost {
	b, w := float64(bytes), float64(weights)
	return Cost{Launch: 150e-6, Body: b / 40e9, Row: w / 2e12, HostExpert: b / 20e9, HostRow: w / 1e11}
}

// OnDevice is c with nothing on the host.
func (c Cost) OnDevice() Cost {
	c.HostExpert, c.HostRow = 0, 0
	return c
}

// hosts reports whether experts may run on the host.
func (c Cost) hosts() bool { return c.HostExpert > 0 || c.HostRow > 0 }

// Of returns the seconds that work takes.
func (c Cost) Of(w Work) float64 {
	return c.Launch*float64(w.Launches) + c.Body*float64(w.Bodies) + c.Row*float64(w.Computed) +
		c.HostExpert*float64(w.HostExperts) + c.HostRow*float64(w.HostRows)
}

// A Work is what launches add up to.
type Work struct {
	Experts  int `json:"experts"`  // that had rows
	Rows     int `json:"rows"`     // that were run
	Launches int `json:"launches"` // of the device
	Bodies   int `json:"bodies"`   // of all launches, empty ones too
	Computed int `json:"computed"` // rows of all bodies, real and padded
	Overflow int `json:"overflow"` // pieces of an expert's rows on the device, the first apart
	Dropped  int `json:"dropped"`  // rows that were not run

	HostExperts int `json:"host_experts"`
	HostRows    int `json:"host_rows"`
}

// Padding is the share of padded rows among those that the device computes.
func (w Work) Padding() float64 {
	if w.Computed == 0 {
		return 0
	}
	return 1 - float64(w.Rows-w.HostRows)/float64(w.Computed)
}

// Add adds o to w.
func (w *Work) Add(o Work) {
	w.Experts += o.Experts
	w.Rows += o.Rows
	w.Launches += o.Launches
	w.Bodies += o.Bodies
	w.Computed += o.Computed
	w.Overflow += o.Overflow
	w.Dropped += o.Dropped
	w.HostExperts += o.HostExperts
	w.HostRows += o.HostRows
}

// WorkOf returns what launches add up to.
func WorkOf(launches []Launch) Work {
	var w Work
	for _, l := range launches {
		if l.G > 0 {
			w.Launches++
			w.Bodies += l.G
			w.Computed += l.G * l.R
		}
		for _, p := range l.Pieces {
			w.Rows += p.To - p.From
			switch {
			case l.G == 0:
				w.HostRows += p.To - p.From
				w.HostExperts++
				w.Experts++
			case p.From == 0:
				w.Experts++
			default:
				w.Overflow++
			}
		}
	}
	return w
}
