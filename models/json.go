package models

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxConfig = 1 << 20 // bytes of a config.json
	maxDepth  = 16      // objects and lists within each other
)

// parseJSON reads one object into string, json.Number, bool, nil, []any and
// map[string]any. Unlike encoding/json it refuses keys given twice, and it names
// the key and the text of a value that is no JSON (Python writes NaN).
func parseJSON(data []byte) (map[string]any, error) {
	if len(data) > maxConfig {
		return nil, fmt.Errorf("config.json: %d bytes, more than %d", len(data), maxConfig)
	}
	p := jsonParser{data: data, d: json.NewDecoder(bytes.NewReader(data))}
	p.d.UseNumber()
	v, err := p.value("", 0)
	if err != nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("config.json: %s is no object", show(v))
	}
	if _, err := p.d.Token(); err != io.EOF {
		return nil, errors.New("config.json: more text after the object")
	}
	return object, nil
}

type jsonParser struct {
	data []byte
	d    *json.Decoder
}

func (p *jsonParser) value(path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("config.json: %.60s: nested deeper than %d", cmp.Or(path, "the object"), maxDepth)
	}
	t, err := p.token(path)
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return p.object(path, depth)
	case json.Delim('['):
		return p.list(path, depth)
	}
	return t, nil
}

func (p *jsonParser) object(path string, depth int) (any, error) {
	object := map[string]any{}
	for p.d.More() {
		t, err := p.token(path)
		if err != nil {
			return nil, err
		}
		key := t.(string)
		at := strings.TrimPrefix(path+"."+key, ".")
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("config.json: %.60s is given twice", at)
		}
		if object[key], err = p.value(at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := p.token(path)
	return object, err
}

func (p *jsonParser) list(path string, depth int) (any, error) {
	list := []any{}
	for p.d.More() {
		v, err := p.value(path, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := p.token(path)
	return list, err
}

func (p *jsonParser) token(path string) (json.Token, error) {
	start := p.d.InputOffset()
	t, err := p.d.Token()
	if err == nil {
		return t, nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if text := p.text(start); text != "" && path != "" {
		return nil, fmt.Errorf("config.json: %.60s is %.40s: %w", path, text, err)
	}
	return nil, fmt.Errorf("config.json: %.60s: %w", cmp.Or(path, "the object"), err)
}

// text returns the word that stands after an offset.
func (p *jsonParser) text(start int64) string {
	text := bytes.TrimLeft(p.data[start:], " \t\r\n:,")
	if end := bytes.IndexAny(text, ",]} \t\r\n"); end >= 0 {
		text = text[:end]
	}
	return string(text)
}

// show returns a value as JSON, cut to what fits a message.
func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%.60v", v)
	}
	if len(text) > 60 {
		return string(text[:57]) + "..."
	}
	return string(text)
}
