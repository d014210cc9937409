package layout

// The tables of manifest.fbs, as the verifier walks them. A field's number is
// its place in the list.

type kind uint8

const (
	scalar  kind = iota
	text         // string
	scalars      // vector of scalars
	texts        // vector of strings
	tables       // vector of tables
)

type field struct {
	name string
	kind kind
	size uint64 // of a scalar or of one of a vector's scalars, in bytes
	of   *table // of a vector's tables
}

type table struct {
	name   string
	fields []field
}

func manifestTable() *table {
	keyValue := &table{"KeyValue", []field{
		{name: "key", kind: text},
		{name: "value", kind: text},
	}}
	record := &table{"Record", []field{
		{name: "layer", size: 4},
		{name: "index", size: 4},
		{name: "class", kind: text},
		{name: "offset", size: 8},
		{name: "length", size: 8},
		{name: "crc", size: 4},
		{name: "factors", kind: scalars, size: 4},
	}}
	region := &table{"Region", []field{
		{name: "name", kind: text},
		{name: "offset", size: 8},
		{name: "rows", size: 8},
		{name: "row_stride", size: 8},
		{name: "row_bytes", size: 8},
		{name: "factor", size: 4},
		{name: "blocks", kind: scalars, size: 4},
	}}
	fileSum := &table{"FileSum", []field{
		{name: "name", kind: text},
		{name: "size", size: 8},
		{name: "crc", size: 4},
	}}
	artifact := &table{"Artifact", []field{
		{name: "backend", kind: text},
		{name: "arch", kind: text},
		{name: "sdk", kind: text},
		{name: "name", kind: text},
		{name: "file", kind: text},
		{name: "offset", size: 8},
		{name: "length", size: 8},
		{name: "crc", size: 4},
	}}
	return &table{"Manifest", []field{
		{name: "version", size: 4},
		{name: "align", size: 8},
		{name: "provenance", kind: tables, of: keyValue},
		{name: "family", kind: text},
		{name: "config", kind: scalars, size: 1},
		{name: "policy", kind: tables, of: keyValue},
		{name: "ops", kind: texts},
		{name: "backends", kind: texts},
		{name: "packing", kind: text},
		{name: "module", kind: text},
		{name: "experts", kind: tables, of: record},
		{name: "dense", kind: tables, of: record},
		{name: "rows", kind: tables, of: region},
		{name: "files", kind: tables, of: fileSum},
		{name: "artifacts", kind: tables, of: artifact},
	}}
}
