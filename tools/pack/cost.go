package pack

import (
	"strconv"
	"strings"

	"estream/passes"
)

// cost implements maker: a record is made a weight at a time.
func (p *packer) cost(t task) int64 {
	if t.rows > 0 {
		return 8*int64(t.rows*p.embed().Type.Last().N) + t.bytes
	}
	_, weights, _, err := p.parts(t)
	if err != nil {
		return 0 // as making it will say
	}
	most := int64(0)
	for _, rw := range weights {
		most = max(most, p.weightCost(rw))
	}
	return most
}

// weightCost is the packed weight, what it is packed from, and what that is
// encoded from.
func (p *packer) weightCost(rw passes.RecordWeight) int64 {
	if p.o.Fill != nil || !rw.Matrix {
		return 4 * rw.Size
	}
	blocks := 3 * 4 * int64(p.block()) // the block, what it becomes, and one that is garbage
	if p.byBlocks(rw) {
		return blocks
	}
	elems := int64(rw.Type.Dims[0].N) * int64(rw.Type.Dims[1].N)
	read := 4 * elems
	if p.inBlocks(rw) {
		read = blocks
	}
	return read + heldBytes(rw.Type.DType, elems) + rw.Size + p.stacked[rw.Name]
}

// findStacked notes the weights that the checkpoint has stacked, and how many
// bytes reading any rows of one takes beside those rows: the whole of its expert,
// which is why such a weight is read whole.
func (p *packer) findStacked() {
	shapes := map[string][]int{}
	for _, t := range p.ckpt.Tensors() {
		shapes[t.Name] = t.Shape
	}
	p.stacked = map[string]int64{}
	for name, w := range p.model.Family.Weights {
		for _, s := range w.From {
			shape := p.shapeOf(s.Name, shapes)
			if shape == nil {
				continue
			}
			if s.Stacked {
				p.stacked[name] = slab(shape, s.Transpose || s.Parts > 1)
			}
			break
		}
	}
}

// shapeOf returns the shape of a tensor in the first layer that has it.
func (p *packer) shapeOf(name string, shapes map[string][]int) []int {
	name = strings.ReplaceAll(name, "{e}", "0")
	for l := range p.model.Config.NumHiddenLayers {
		if shape := shapes[strings.ReplaceAll(name, "{l}", strconv.Itoa(l))]; shape != nil {
			return shape
		}
	}
	return nil
}

func slab(shape []int, rearranged bool) int64 {
	if !rearranged {
		return 0
	}
	n := int64(4)
	for _, d := range shape[1:] {
		n *= int64(d)
	}
	return n
}
