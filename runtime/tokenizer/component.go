package tokenizer

import "fmt"

// component is one normalizer, pre-tokenizer, post-processor or decoder of the file.
type component struct {
	path string // such as pre_tokenizer.pretokenizers[1]
	kind string // its "type"
	raw  rawValue
}

// maxParts is how many parts a Sequence may have.
const maxParts = 64

// components returns the parts of a field: none for null, those in list for a Sequence, else the value itself.
// A Sequence within a Sequence is left to the reader of the parts, who does not know it.
func components(path string, value rawValue, list string) ([]component, error) {
	if value.isNull() {
		return nil, nil
	}
	whole, err := newComponent(path, value)
	if err != nil || whole.kind != "Sequence" {
		return []component{whole}, err
	}
	var items rawValue
	if err := whole.read(map[string]any{list: &items}); err != nil {
		return nil, err
	}
	path = fieldPath(path, list)
	values, err := readArray(path, items)
	if err != nil {
		return nil, err
	}
	var parts []component
	for v := range values {
		if len(parts) == maxParts {
			return nil, fmt.Errorf("%s: more than %d parts are not supported", path, maxParts)
		}
		part, err := newComponent(fmt.Sprintf("%s[%d]", path, len(parts)), v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func newComponent(path string, value rawValue) (component, error) {
	c := component{path: path, raw: value}
	if value[0] != '{' {
		return c, fmt.Errorf("%s: %v is not an object", path, value)
	}
	for key, v := range members(value) {
		if string(key) == "type" && v[0] == '"' {
			c.kind = string(unquote(v))
			break
		}
	}
	return c, nil
}

// read decodes the fields other than the type.
func (c component) read(targets map[string]any) error {
	targets["type?"] = &c.kind
	return readObject(c.path, c.raw, targets)
}

// refuse is the error for a component of an unknown type.
func (c component) refuse() error {
	return fmt.Errorf("%s.type: %q is not supported", c.path, c.kind)
}
