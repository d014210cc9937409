package checkpoint

import (
	"fmt"
	"strings"
	"testing"
)

// malformedIndex has indexes that cannot be used, and the error after the path.
var malformedIndex = []struct{ name, text, want string }{
	{"empty", ``, `json: begins with "", want {`},
	{"cut", `{"weight_map":{"a":"x"`, `json: bad syntax after byte 22`},
	{"text after", `{"weight_map":{"a":"x"}}}`, `json: "}" after the closing brace`},
	{"no weight_map", `{"metadata":{}}`, `fields: no tensors in weight_map`},
	{"no tensors", `{"weight_map":{}}`, `fields: no tensors in weight_map`},
	{"weight_map in capitals", `{"Weight_Map":{"a":"x"}}`, `fields: no tensors in weight_map`},
	{"weight_map twice", `{"weight_map":{"a":"x"},"weight_map":{"a":"y"}}`, `duplicate key: "weight_map"`},
	{"weight_map an array", `{"weight_map":[]}`, `json: weight_map is [, want an object`},
	{"tensor twice", `{"weight_map":{"a":"x","a":"y"}}`, `duplicate key: "a"`},
	{"shard a number", `{"weight_map":{"a":1}}`, `tensor "a": json: the shard is 1, want a string`},
	{"shard an object", `{"weight_map":{"a":{"b":"x"}}}`, `tensor "a": json: the shard is {, want a string`},
	{"metadata with a key twice", `{"metadata":{"x":[{"y":1,"y":2}]},"weight_map":{"a":"x"}}`, `duplicate key: "y"`},
	{"metadata nested", `{"metadata":` + strings.Repeat("[", 1<<20), `json: nested deeper than 32`},
	{"metadata cut", `{"metadata":`, `json: bad syntax after byte 12`},
}

func TestMalformedIndex(t *testing.T) {
	for _, c := range malformedIndex {
		_, err := parseIndex("x", []byte(c.text))
		if got, want := fmt.Sprint(err), "x: "+c.want; got != want {
			t.Errorf("%s: index %.200q\n got: %s\nwant: %s", c.name, c.text, got, want)
		}
	}
}

func FuzzIndex(f *testing.F) {
	for _, c := range malformedIndex {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(`{"metadata":{"total_size":8,"more":[1,{"a":null}]},"weight_map":{"a":"x","b":"y","c":"x"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		x, err := parseIndex("x", text)
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, tensors := range x.tensors {
			for _, name := range tensors {
				names[name] = true
			}
		}
		if x.count == 0 || len(names) != x.count {
			t.Fatalf("index %q: count %d, tensors %v", text, x.count, x.tensors)
		}
	})
}
