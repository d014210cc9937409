package cli

import (
	"encoding/binary"
	"encoding/json"

	"estream/lower"
	"estream/runtime"
)

// logitsRoom refuses logits of a batch for which there is no room.
func (o *output) logitsRoom(b runtime.Batch, vocab int) error {
	n := int64(0)
	for _, p := range b.Prompts {
		switch b.Logits {
		case runtime.All:
			n += int64(len(p))
		case runtime.Last:
			n++
		}
	}
	return o.room(4 * n * int64(vocab))
}

// write writes logits f32 [N,V] and offsets i32 [B+1], and puts the file in its place.
func (o *output) write(res *runtime.Result) error {
	if o == nil {
		return nil
	}
	header, err := logitsHeader(res)
	if err != nil {
		return err
	}
	size := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	for _, part := range [][]byte{size, header, lower.Wrap(res.Logits).Bytes(), lower.Wrap(res.Offsets).Bytes()} {
		if _, err := o.Write(part); err != nil {
			return err
		}
	}
	return o.finish()
}

func logitsHeader(res *runtime.Result) ([]byte, error) {
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
	for err == nil && len(header)%8 != 0 {
		header = append(header, ' ')
	}
	return header, err
}
