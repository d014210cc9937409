package tokenizer

import "fmt"

// piece is a stretch of text on its way to the model.
type piece struct {
	text  string
	first bool // it starts where the whole text starts
}

// preTokenizer cuts a piece and calls emit with the parts in order. It returns the first error, emit's too.
type preTokenizer func(p piece, emit func(piece) error) error

// preTokenize sends p through all steps and calls emit with what comes out, never empty.
func preTokenize(steps []preTokenizer, p piece, emit func(piece) error) error {
	if p.text == "" {
		return nil
	}
	if len(steps) == 0 {
		return emit(p)
	}
	return steps[0](p, func(q piece) error { return preTokenize(steps[1:], q, emit) })
}

func loadPreTokenizers(path string, value rawValue) ([]preTokenizer, error) {
	parts, err := components(path, value, "pretokenizers")
	if err != nil {
		return nil, err
	}
	var steps []preTokenizer
	for _, part := range parts {
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
		steps = append(steps, prefixSpace)
	}
	if regex {
		steps = append(steps, splitter{find: gpt2Words.find, join: isolated}.cut)
	}
	return append(steps, toByteAlphabet), err
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

func prefixSpace(p piece, emit func(piece) error) error {
	p.text = withPrefix(" ", p.text)
	return emit(p)
}
