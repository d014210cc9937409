package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder turns tokens into bytes, one at a time, and may strip the start of the whole.
type decoder struct {
	steps []decodeStep
	strip string // the character to take from the start
	most  int    // how often
	grow  int    // how many times as long as it is spelled a token's text may be
}

// decodeStep rewrites the text of a token; first is set for the first token of all.
type decodeStep func(t token, text string, first bool) string

// text returns the bytes of a token, unstripped.
func (d *decoder) text(t token, first bool) string {
	text := t.text
	for _, step := range d.steps {
		text = step(t, text, first)
	}
	return text
}

// loadDecoder reads steps in the order that lets each token be decoded alone: what changes text, what makes bytes of
// it, Fuse, and then Strip. Without a decoder tokens are joined by spaces.
func loadDecoder(path string, value rawValue) (decoder, error) {
	var d decoder
	parts, err := components(path, value, "decoders")
	if err != nil {
		return d, err
	}
	d.grow = 1
	if value.isNull() {
		d.steps = []decodeStep{joinBySpace}
	}
	stage := 0
	for _, part := range parts {
		before := stage
		if stage, err = d.load(part); err != nil {
			return d, err
		}
		if stage < before || stage == before && stage > textStage || stage == stripStage && before != fuseStage {
			return d, fmt.Errorf("%s: %s is not supported at this place", part.path, part.kind)
		}
	}
	return d, nil
}

const (
	textStage = iota
	byteStage
	fuseStage
	stripStage
)

// load adds one step and returns its stage.
func (d *decoder) load(c component) (stage int, err error) {
	switch c.kind {
	case "Replace":
		return textStage, d.loadReplace(c)
	case "Metaspace":
		m, err := readMetaspace(c)
		d.steps = append(d.steps, m.decode)
		return textStage, err
	case "ByteLevel":
		d.steps = append(d.steps, byteLevelToken)
		return byteStage, c.read(map[string]any{"add_prefix_space": new(bool), "trim_offsets": new(bool), "use_regex?": new(bool)})
	case "ByteFallback":
		d.steps = append(d.steps, byteToken)
		return byteStage, c.read(map[string]any{})
	case "Fuse":
		return fuseStage, c.read(map[string]any{})
	case "Strip":
		return stripStage, d.loadStrip(c)
	}
	return 0, c.refuse()
}

func (d *decoder) loadReplace(c component) error {
	var pattern rawValue
	var old, content string
	if err := c.read(map[string]any{"pattern": &pattern, "content": &content}); err != nil {
		return err
	}
	if err := readObject(c.path+".pattern", pattern, map[string]any{"String": &old}); err != nil {
		return err
	}
	if old == "" {
		return fmt.Errorf("%s.pattern.String: empty", c.path)
	}
	if d.grow *= max(1, (len(content)+len(old)-1)/len(old)); d.grow > maxGrowth {
		return fmt.Errorf("%s.content: makes a token more than %d times as long", c.path, maxGrowth)
	}
	d.steps = append(d.steps, func(_ token, text string, _ bool) string { return strings.ReplaceAll(text, old, content) })
	return nil
}

func (d *decoder) loadStrip(c component) error {
	stop := 0
	if err := c.read(map[string]any{"content": &d.strip, "start": &d.most, "stop": &stop}); err != nil {
		return err
	}
	if utf8.RuneCountInString(d.strip) != 1 {
		return fmt.Errorf("%s.content: %q is not one character", c.path, d.strip)
	}
	if d.most < 0 {
		return fmt.Errorf("%s.start: %d is negative", c.path, d.most)
	}
	if stop != 0 {
		return fmt.Errorf("%s.stop: %d is not supported, only 0", c.path, stop)
	}
	return nil
}

func joinBySpace(_ token, text string, first bool) string {
	if first {
		return text
	}
	return " " + text
}

func byteLevelToken(t token, text string, _ bool) string {
	if t.literal {
		return text
	}
	return fromByteAlphabet(text)
}

// byteToken turns <0x41> into A.
func byteToken(_ token, text string, _ bool) string {
	if len(text) == len("<0x41>") && strings.HasPrefix(text, "<0x") && text[5] == '>' {
		if b, err := strconv.ParseUint(text[3:5], 16, 8); err == nil {
			return string([]byte{byte(b)})
		}
	}
	return text
}
