package chat

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// A guard counts and ends what one rendering does.
type guard struct {
	deep    int
	written int
	out     io.Writer
	stopped atomic.Pointer[error] // why it must end
}

// guardKey is the guard's name in a rendering's context. Templates cannot say it.
const guardKey = "the guard"

func guardOf(r *exec.Renderer) *guard {
	v, _ := r.Environment.Context.Get(guardKey)
	return v.(*guard)
}

// stop makes the rendering end with err where it meets the guard next.
func (g *guard) stop(err error) { g.stopped.CompareAndSwap(nil, &err) }

func (g *guard) err() error {
	if e := g.stopped.Load(); e != nil {
		return *e
	}
	return nil
}

// enter is called where a rendering goes a level deeper; leave undoes it.
func (g *guard) enter() error {
	if g.deep++; g.deep > maxDeep {
		g.stop(fmt.Errorf("the chat template goes more than %d macros, loops and calls deep", maxDeep))
	}
	return g.err()
}

func (g *guard) leave() { g.deep-- }

// Write is where the text of a rendering goes.
func (g *guard) Write(p []byte) (int, error) {
	if g.written += len(p); g.written > maxOutput {
		g.stop(fmt.Errorf("the chat template writes more than %d bytes", maxOutput))
	}
	if err := g.err(); err != nil {
		return 0, err
	}
	return g.out.Write(p)
}

// statements are those that templates of chats use, the ones that may run for ever
// under a guard. There is none that loads another template.
func statements() *exec.ControlStructureSet {
	set := map[string]parser.ControlStructureParser{"generation": generation}
	for _, name := range []string{"if", "set", "with", "break", "continue", "filter", "raw", "for", "macro", "call"} {
		parse, _ := builtins.ControlStructures.Get(name)
		set[name] = guarded(parse)
	}
	set["set"] = assigned(set["set"])
	return exec.NewControlStructureSet(set)
}

// guarded puts what is between the tags of loops and calls into a body, and macros
// into a guardedMacro.
func guarded(parse parser.ControlStructureParser) parser.ControlStructureParser {
	return func(p, args *parser.Parser) (nodes.ControlStructure, error) {
		s, err := parse(p, args)
		if err != nil {
			return nil, err
		}
		switch s := s.(type) {
		case *controlStructures.ForControlStructure:
			s.BodyWrapper = bodyOf(s.BodyWrapper)
			filter := loopedName
			if s.Value != "" {
				filter = pairsName
			}
			s.ObjectEvaluator = loopOver(s.ObjectEvaluator, filter)
		case *controlStructures.CallControlStructure:
			s.Body = bodyOf(s.Body)
		case *controlStructures.MacroControlStructure:
			return guardedMacro{s}, nil
		}
		return s, nil
	}
}

// A body is what stands between two tags.
type body struct{ *nodes.Wrapper }

func bodyOf(w *nodes.Wrapper) *nodes.Wrapper {
	block := &nodes.ControlStructureBlock{Location: w.Location, Name: "body", ControlStructure: body{w}}
	return &nodes.Wrapper{Location: w.Location, Nodes: []nodes.Node{block}, EndTag: w.EndTag}
}

func (b body) Position() *tokens.Token { return b.Location }

func (b body) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	g := guardOf(r)
	defer g.leave()
	if err := g.enter(); err != nil {
		return err
	}
	return r.ExecuteWrapper(b.Wrapper)
}

type guardedMacro struct {
	*controlStructures.MacroControlStructure
}

func (m guardedMacro) Execute(r *exec.Renderer, tag *nodes.ControlStructureBlock) error {
	if err := m.MacroControlStructure.Execute(r, tag); err != nil {
		return err
	}
	f, _ := r.Environment.Context.Get(m.Name)
	g := guardOf(r)
	r.Environment.Context.Set(m.Name, exec.Macro(func(args *exec.VarArgs) *exec.Value {
		defer g.leave()
		if err := g.enter(); err != nil {
			return exec.AsValue(err)
		}
		return f.(exec.Macro)(args)
	}))
	return nil
}

// refused ends the rendering: gonja's lists would hold the error as a value.
func refused(e *exec.Evaluator, err error) *exec.Value {
	if g, ok := e.Environment.Context.Get(guardKey); ok {
		g.(*guard).stop(err)
	}
	return exec.AsValue(err)
}
