package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"estream/pager/layout"
)

// flatten reads a config.json as settings by place: rope_scaling.factor. Lists are
// settings themselves, and null is no setting.
func flatten(s Side) (map[string]string, error) {
	d := json.NewDecoder(bytes.NewReader(s.Config))
	d.UseNumber() // so that 1e-05 stays what it is
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s: config.json: %w", s.Path, err)
	}
	out := map[string]string{}
	flattenInto(out, "", v)
	return out, nil
}

func flattenInto(out map[string]string, prefix string, v map[string]any) {
	for k, x := range v {
		if x == nil {
			continue
		}
		if inner, ok := x.(map[string]any); ok && len(inner) > 0 {
			flattenInto(out, prefix+k+".", inner)
			continue
		}
		out[prefix+k] = printed(x)
	}
}

// printed is a value of JSON as it compares: numbers by value.
func printed(v any) string {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil && strings.ContainsAny(n.String(), ".eE") {
			v = f
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// fields are the settings that differ, by key.
func fields(a, b map[string]string) []Field {
	out := []Field{}
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if a[k] != b[k] {
			out = append(out, Field{k, a[k], b[k]})
		}
	}
	return out
}

// manifests compares what packages say of themselves and of the files beside their
// weights; not where they come from, nor where things lie in them.
func manifests(a, b *layout.Manifest) []Field { return fields(manifest(a), manifest(b)) }

func manifest(m *layout.Manifest) map[string]string {
	out := map[string]string{
		"family": m.Family, "packing": m.Packing, "backends": strings.Join(m.Backends, ", "), "align": fmt.Sprint(m.Align),
	}
	for _, kv := range m.Policy {
		out["policy "+kv.Key] = kv.Value
	}
	for _, f := range m.Files {
		if f.Name != layout.ExpertsName && f.Name != layout.DenseName {
			out["file "+f.Name] = fmt.Sprintf("%d bytes, crc %08x", f.Size, f.CRC)
		}
	}
	return out
}
