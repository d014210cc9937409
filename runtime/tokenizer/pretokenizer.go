package tokenizer

import (
	"fmt"
	"slices"
)

// piece is a stretch of text on its way to the model.
type piece struct {
	text  string
	first bool // it starts where the whole text starts
}

// preTokenizer returns what cuts pieces that are not empty, one after another, and calls emit with the parts in order,
// none of them empty. That returns the first error, emit's too; its state is made once, not for each piece.
type preTokenizer func(emit func(piece) error) func(piece) error

// preTokenize returns what sends pieces through all steps and calls emit with what comes out.
func preTokenize(steps []preTokenizer, emit func(piece) error) func(piece) error {
	for _, step := range slices.Backward(steps) {
		emit = step(emit)
	}
	return emit
}

// whole is a preTokenizer that changes pieces and cuts none.
func whole(change func(piece) piece) preTokenizer {
	return func(emit func(piece) error) func(piece) error {
		return func(p piece) error { return emit(change(p)) }
	}
}

func loadPreTokenizers(path string, value rawValue) ([]preTokenizer, error) {
	parts, err := components(path, value, "pretokenizers")
	if err != nil {
		return nil, err
	}
	var steps []preTokenizer
	for i, part := range parts {
		adds := part.kind == "ByteLevel" || part.kind == "Metaspace" // to each piece; several in turn could double the pieces each time
		if adds && slices.ContainsFunc(parts[:i], func(c component) bool { return c.kind == part.kind }) {
			return nil, fmt.Errorf("%s: a second %s is not supported", part.path, part.kind)
		}
		more, err := loadPreTokenizer(part)
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

func loadPreTokenizer(c component) ([]preTokenizer, error) {
	switch c.kind {
	case "ByteLevel":
		return loadByteLevel(c)
	case "Split":
		return loadSplit(c)
	case "Digits":
		individual := false
		err := c.read(map[string]any{"individual_digits": &individual})
		join := contiguous
		if individual {
			join = isolated
		}
		return []preTokenizer{splitter{find: findDigits, join: join}.cut}, err
	case "Metaspace":
		m, err := readMetaspace(c)
		return m.preTokenizers(), err
	}
	return nil, c.refuse()
}

func loadByteLevel(c component) ([]preTokenizer, error) {
	space, regex, trim := true, true, true // trim concerns offsets, which there are none of here
	err := c.read(map[string]any{"add_prefix_space": &space, "use_regex?": &regex, "trim_offsets": &trim})
	var steps []preTokenizer
	if space {
		steps = append(steps, whole(prefixSpace))
	}
	if regex {
		steps = append(steps, splitter{find: gpt2Words.find, join: isolated}.cut)
	}
	return append(steps, whole(toByteAlphabet)), err
}

func loadSplit(c component) ([]preTokenizer, error) {
	var pattern rawValue
	var behavior string
	var s splitter
	if err := c.read(map[string]any{"pattern": &pattern, "behavior": &behavior, "invert": &s.invert}); err != nil {
		return nil, err
	}
	if s.join = joinOf(behavior); s.join == nil {
		return nil, fmt.Errorf("%s.behavior: %q is not supported", c.path, behavior)
	}
	s.drop = behavior == "Removed"
	var err error
	s.find, err = loadPattern(c.path+".pattern", pattern)
	return []preTokenizer{s.cut}, err
}

func prefixSpace(p piece) piece {
	p.text = withPrefix(" ", p.text)
	return p
}
