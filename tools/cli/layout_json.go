package cli

import "estream/pager/layout"

// What is printed of a manifest as JSON: its parts under names as all output has them.
type (
	keyValueJSON struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	fileJSON struct {
		Name string `json:"name"`
		Size int64  `json:"size"`
		CRC  uint32 `json:"-"` // of companions alone
	}
	recordJSON struct {
		Layer   int       `json:"layer"`
		Index   int       `json:"index"`
		Class   string    `json:"class"`
		Offset  int64     `json:"offset"`
		Length  int64     `json:"length"`
		CRC     uint32    `json:"crc"`
		Factors []float32 `json:"factors"`
	}
	regionJSON struct {
		Name      string   `json:"name"`
		Offset    int64    `json:"offset"`
		Rows      int64    `json:"rows"`
		RowStride int64    `json:"row_stride"`
		RowBytes  int64    `json:"row_bytes"`
		Factor    float32  `json:"factor"`
		Blocks    []uint32 `json:"block_crcs"`
	}
)

func keyValuesJSON(list []layout.KeyValue) []keyValueJSON {
	return listJSON(list, func(x layout.KeyValue) keyValueJSON { return keyValueJSON(x) })
}

func filesJSON(list []layout.FileSum) []fileJSON {
	return listJSON(list, func(x layout.FileSum) fileJSON { return fileJSON(x) })
}

func recordsJSON(list []layout.Record) []recordJSON {
	return listJSON(list, func(x layout.Record) recordJSON { return recordJSON(x) })
}

func regionsJSON(list []layout.Region) []regionJSON {
	return listJSON(list, func(x layout.Region) regionJSON { return regionJSON(x) })
}

// listJSON is never nil: a list of nothing is [], not null.
func listJSON[A, B any](list []A, as func(A) B) []B {
	out := make([]B, len(list))
	for i, x := range list {
		out[i] = as(x)
	}
	return out
}
