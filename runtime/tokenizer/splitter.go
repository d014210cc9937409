package tokenizer

// splitter cuts a piece at the matches of a pattern.
type splitter struct {
	find   matcher
	join   func(held, next bool) bool // whether two neighbours, matches or not, stay together
	drop   bool                       // matches are left out
	invert bool                       // matches and the text between them change places
}

func isolated(held, next bool) bool           { return false }
func contiguous(held, next bool) bool         { return held == next }
func mergedWithPrevious(held, next bool) bool { return next && !held }
func mergedWithNext(held, next bool) bool     { return held && !next }

// joinOf returns the rule of a behavior by its name in the file, or nil.
func joinOf(behavior string) func(held, next bool) bool {
	switch behavior {
	case "Isolated", "Removed":
		return isolated
	case "Contiguous":
		return contiguous
	case "MergedWithPrevious":
		return mergedWithPrevious
	case "MergedWithNext":
		return mergedWithNext
	}
	return nil
}

// cut is a preTokenizer.
func (s splitter) cut(emit func(piece) error) func(piece) error {
	c := &cutting{splitter: s, emit: emit}
	match := c.match
	return func(p piece) error {
		c.piece, c.from, c.to, c.held = p, 0, 0, false
		if err := s.find(p.text, match); err != nil {
			return err
		}
		if c.to < len(p.text) {
			if err := c.extend(len(p.text), false); err != nil {
				return err
			}
		}
		return c.send()
	}
}

// cutting is the state of a cut: text[from:to] waits to be sent, and held says whether it is a match.
type cutting struct {
	splitter
	piece
	emit     func(piece) error
	from, to int
	held     bool
}

func (c *cutting) match(start, end int) error {
	if start > c.to {
		if err := c.extend(start, false); err != nil {
			return err
		}
	}
	return c.extend(end, true)
}

// extend takes the text up to end, either joined to what waits or after sending that.
func (c *cutting) extend(end int, match bool) error {
	match = match != c.invert
	var err error
	if c.from == c.to || !c.join(c.held, match) {
		err = c.send()
		c.from = c.to
	}
	c.to, c.held = end, match
	return err
}

func (c *cutting) send() error {
	if c.from == c.to || c.held && c.drop {
		return nil
	}
	return c.emit(piece{c.text[c.from:c.to], c.first && c.from == 0})
}
