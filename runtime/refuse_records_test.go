package runtime_test

import (
	"testing"

	"estream/pager/layout"
)

// TestRefusedRecords has manifests whose records are not those of the module.
func TestRefusedRecords(t *testing.T) {
	experts := func(edit func(e []layout.Record)) func(*layout.Manifest) {
		return func(m *layout.Manifest) { edit(m.Experts) }
	}
	dense := func(edit func(d []layout.Record)) func(*layout.Manifest) {
		return func(m *layout.Manifest) { edit(m.Dense) }
	}
	table := func(edit func(r *layout.Region)) func(*layout.Manifest) {
		return func(m *layout.Manifest) { edit(&m.Rows[0]) }
	}
	checkRefused(t, "w4", []refusal{
		{"an operator that nobody has", func(m *layout.Manifest) { m.Ops = append(m.Ops, "warp") },
			`needs the operator "warp", which this program lacks: use one built with the plug-in that declares it`},
		{"a packing that nobody reads", func(m *layout.Manifest) { m.Packing = "tiles" },
			`packed for "tiles", which no backend here reads`},

		{"an expert less", func(m *layout.Manifest) { m.Experts = append(m.Experts[:10:10], m.Experts[11:]...) },
			"layer 1: 7 expert records, the router chooses among 8"},
		{"no experts of a layer", func(m *layout.Manifest) { m.Experts = m.Experts[:16] },
			"layer 2: 0 expert records, the router chooses among 8"},
		{"no experts", func(m *layout.Manifest) { m.Experts = nil },
			"layer 0: 0 expert records, the router chooses among 8"},
		{"an expert of another number", experts(func(e []layout.Record) { e[7].Index = 9 }),
			"layer 0: no record of expert 7"},
		{"an expert of another class", experts(func(e []layout.Record) { e[3].Class = "expert1" }),
			"record of layer 0 index 3: class expert1, 3328 bytes, 3 factors; the module wants expert0, 3328, 3"},
		{"an expert of another length", experts(func(e []layout.Record) { e[3].Length -= 64 }),
			"record of layer 0 index 3: class expert0, 3264 bytes, 3 factors; the module wants expert0, 3328, 3"},
		{"an expert with a factor less", experts(func(e []layout.Record) { e[3].Factors = e[3].Factors[:2] }),
			"record of layer 0 index 3: class expert0, 3328 bytes, 2 factors; the module wants expert0, 3328, 3"},
		{"experts at uneven places", experts(func(e []layout.Record) { e[1].Offset, e[2].Offset = e[2].Offset, e[1].Offset }),
			"expert 1 of layer 0 stands at offset 32768, want 16384, after the one before it"},

		{"dense weights of another class", dense(func(d []layout.Record) { d[1].Class = "c1" }),
			"record of layer 1 index 0: class c1, 26112 bytes, 9 factors; the module wants c0, 26112, 9"},
		{"dense weights of another length", dense(func(d []layout.Record) { d[1].Length += 64 }),
			"record of layer 1 index 0: class c0, 26176 bytes, 9 factors; the module wants c0, 26112, 9"},
		{"dense weights without factors", dense(func(d []layout.Record) { d[1].Factors = nil }),
			"record of layer 1 index 0: class c0, 26112 bytes, 0 factors; the module wants c0, 26112, 9"},
		{"no dense weights", func(m *layout.Manifest) { m.Dense = nil }, "layer 0: 0 dense records, want 1"},

		{"a norm alone for a head", func(m *layout.Manifest) { m.Dense = m.Dense[:4] }, "no records of the head"},
		{"a run of another length", dense(func(d []layout.Record) { d[4].Length -= 64 }),
			"record of layer 3 index 1: class head.proj, 10496 bytes, 1 factors; the module wants head.proj, 10560, 1"},
		{"a run of another class", dense(func(d []layout.Record) { d[4].Class = "head.norm" }),
			"record of layer 3 index 1: class head.norm, 10560 bytes, 1 factors; the module wants head.proj, 10560, 1"},
		{"a run without a factor", dense(func(d []layout.Record) { d[4].Factors = nil }),
			"record of layer 3 index 1: class head.proj, 10560 bytes, 0 factors; the module wants head.proj, 10560, 1"},

		{"no embeddings", func(m *layout.Manifest) { m.Rows = nil }, "0 tables of rows, want the embeddings alone"},
		{"another table beside the embeddings", func(m *layout.Manifest) {
			more := layout.Region{Name: "more", Offset: m.Dense[4].Offset, Rows: 1, RowStride: 64, RowBytes: 64, Factor: 1, Blocks: []uint32{0}}
			m.Dense, m.Rows = m.Dense[:4], append(m.Rows, more)
		}, "2 tables of rows, want the embeddings alone"},
		{"fewer embeddings", table(func(r *layout.Region) { r.Rows = 90 }),
			"record of layer 3 index 1: class head.proj, 10560 bytes, 1 factors; the module wants head.proj, 6336, 1"},
		{"shorter embeddings", table(func(r *layout.Region) { r.RowBytes-- }),
			"table embed.weight: rows of 65 bytes do not hold w8[1,64]"},
	})
}
