package models

import (
	"fmt"
	"maps"
	"reflect"
)

// respell turns the keys of transformers 5 into those of transformers 4:
// rope_parameters becomes rope_theta and rope_scaling, and a scaling that is
// none becomes absent. Within rope_scaling, type becomes rope_type. LFM2's
// tie_embedding becomes tie_word_embeddings.
func respell(values map[string]any) error {
	if err := rename(values, "", "tie_embedding", "tie_word_embeddings"); err != nil {
		return err
	}
	if values["rope_scaling"] == nil {
		delete(values, "rope_scaling")
	}
	if err := rename(values, "", "rope_parameters", "rope_scaling"); err != nil {
		return err
	}
	v, there := values["rope_scaling"]
	scaling, ok := v.(map[string]any)
	if !ok && there {
		return fmt.Errorf("config.json: rope_scaling is %s: want an object", show(v))
	}
	scaling = maps.Clone(scaling)
	if err := rename(scaling, "rope_scaling.", "type", "rope_type"); err != nil {
		return err
	}
	if theta := scaling["rope_theta"]; theta != nil {
		outer := values["rope_theta"]
		if outer != nil && !same(theta, outer) {
			return fmt.Errorf("config.json: rope_theta is %s but that of rope_parameters is %s", show(outer), show(theta))
		}
		values["rope_theta"] = theta
	}
	delete(scaling, "rope_theta")
	if kind := scaling["rope_type"]; kind == nil || kind == "default" {
		delete(scaling, "rope_type")
	}
	values["rope_scaling"] = scaling
	if len(scaling) == 0 {
		delete(values, "rope_scaling")
	}
	return nil
}

// rename moves what stands under one key to another, which may hold the same already.
func rename(values map[string]any, where, from, to string) error {
	v := values[from]
	if v == nil {
		delete(values, from)
		return nil
	}
	if old := values[to]; old != nil && !same(old, v) {
		return fmt.Errorf("config.json: %s%s is %s but %s%s is %s", where, from, show(v), where, to, show(old))
	}
	values[to] = v
	delete(values, from)
	return nil
}

// same compares numbers by value.
func same(a, b any) bool {
	x, numA := number(a)
	y, numB := number(b)
	if numA && numB {
		return x == y
	}
	return reflect.DeepEqual(a, b)
}
