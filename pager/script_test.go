package pager_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"estream/pager"
	"estream/pager/pagertest"
)

var update = flag.Bool("update", false, "write what the scripts of testdata print into them")

// TestScripts runs the scripts of testdata: a command a line, what came of it indented below, once all readers are idle.
// The model is two layers of one dense record and six experts, and a head of three runs of panels; a record has 16 bytes.
//
//	start SCHEDULE [q=1] [b=2] [g=2] [heads=1] [slow=0s]	slow: how long a read of experts takes
//	dense | next                  	take a record or group, and hold it as d1, d2, ... or g1, g2, ...
//	release NAME...
//	route WANTED                  	one digit an expert
//	guess STAGE EXPERT...         	the likeliest first
//	end | sleep DURATION | close
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %q: %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) { got = newScript(t).run(string(want)) })
			if *update {
				err = os.WriteFile(file, []byte(got), 0o644)
			} else if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

type script struct {
	t      *testing.T
	m      *pagertest.Model
	pass   *pager.Pass
	dense  map[string]pager.Span
	groups map[string]pager.Group
	events []string
	waits  []string // told apart from events: a reader goes on meanwhile
}

func newScript(t *testing.T) *script {
	layer := pagertest.Shape{Dense: 1, Experts: 6, Size: 16}
	return &script{
		t: t, m: pagertest.New(1, 16, layer, layer, pagertest.Shape{Dense: 3, Size: 16}),
		dense: map[string]pager.Span{}, groups: map[string]pager.Group{},
	}
}

func (s *script) run(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if line[0] == '\t' {
			continue
		}
		out.WriteString(line)
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		result := s.do(f[0], f[1:])
		synctest.Wait()
		for _, e := range append(s.events, s.waits...) {
			fmt.Fprintf(&out, "\t%s\n", e)
		}
		if s.events, s.waits = nil, nil; result != "" {
			fmt.Fprintf(&out, "\t= %s\n", result)
		}
	}
	return out.String()
}

func (s *script) do(command string, args []string) string {
	ctx := context.Background()
	switch command {
	case "start":
		return s.start(args)
	case "dense":
		d, err := s.pass.Dense(ctx)
		if err != nil {
			return err.Error()
		}
		name := fmt.Sprintf("d%d", len(s.dense)+1)
		s.dense[name] = d
		return fmt.Sprintf("%s: dense %d", name, d.Record)
	case "route":
		if err := s.pass.Route(picks(args[0])); err != nil {
			return err.Error()
		}
	case "guess":
		stage, _ := strconv.Atoi(args[0])
		var experts []int
		for _, word := range args[1:] {
			e, _ := strconv.Atoi(word)
			experts = append(experts, e)
		}
		if err := s.pass.Guess(stage, experts); err != nil {
			return err.Error()
		}
	case "next":
		g, ok, err := s.pass.Next(ctx)
		if err != nil {
			return err.Error()
		}
		if !ok {
			return "end of stage"
		}
		name := fmt.Sprintf("g%d", len(s.groups)+1)
		s.groups[name] = g
		return fmt.Sprintf("%s: experts %s", name, span(g.First, g.Count))
	case "release":
		for _, name := range args {
			s.pass.Release(s.groups[name])
			s.pass.ReleaseDense(s.dense[name])
		}
	case "end":
		s.pass.EndStage()
	case "sleep":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d)
	case "close":
		st, err := s.pass.Close()
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%+v", st)
	default:
		s.t.Fatalf("unknown command %q", command)
	}
	return ""
}

func (s *script) start(args []string) string {
	q, b, g, heads, slow := 1, 2, 2, 1, time.Duration(0)
	for _, a := range args[1:] {
		key, value, _ := strings.Cut(a, "=")
		if to, ok := map[string]any{"q": &q, "b": &b, "g": &g, "heads": &heads}[key]; ok {
			fmt.Sscan(value, to)
		} else if d, err := time.ParseDuration(value); key == "slow" && err == nil {
			slow = d
		} else {
			s.t.Fatalf("unknown option %q", a)
		}
	}
	c, _ := s.m.Config(s.t, b, g, q)
	for c.Schedule.String() != args[0] {
		c.Schedule++
	}
	c.Experts = pagertest.NewFaulty(s.m.Experts, pagertest.Fault{Kind: pagertest.Slow, Times: -1, Delay: slow})
	c.Trace = s.trace
	p, err := pager.New(c)
	if err != nil {
		return err.Error()
	}
	if s.pass, err = p.Start(context.Background(), heads); err != nil {
		return err.Error()
	}
	return ""
}

func (s *script) trace(e pager.Event) {
	kind := "experts"
	if e.Dense {
		kind = "dense"
	}
	text := fmt.Sprintf("%v %d %s %s", e.Kind, e.Stage, kind, span(e.First, e.Count))
	if e.Bytes != 0 {
		text += fmt.Sprintf(" (%d bytes)", e.Bytes)
	}
	if d := e.End.Sub(e.Start); d != 0 {
		text += fmt.Sprintf(" %v", d)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Kind == pager.Wait {
		s.waits = append(s.waits, text)
		return
	}
	s.events = append(s.events, text)
}

func span(first, count int) string {
	if count == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, first+count-1)
}
