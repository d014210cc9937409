package cli

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"

	"estream/runtime"
)

// writeLogits writes a safetensors file of logits f32 [N,V] and offsets i32 [B+1],
// beside its place first.
func writeLogits(path string, res *runtime.Result) (err error) {
	f, err := os.Create(path + ".partial")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	type tensor struct {
		DType   string   `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	n, rest := int64(4*len(res.Logits)), int64(4*len(res.Offsets))
	header, err := json.Marshal(map[string]tensor{
		"logits":  {"F32", []int{len(res.Logits) / res.Vocab, res.Vocab}, [2]int64{0, n}},
		"offsets": {"I32", []int{len(res.Offsets)}, [2]int64{n, n + rest}},
	})
	if err != nil {
		return err
	}
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	w := bufio.NewWriter(f)
	for _, part := range []any{uint64(len(header)), header, res.Logits, res.Offsets} {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
