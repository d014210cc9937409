package weights

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"estream/ir"
	"estream/lower"
	"estream/pager/layout"
	"estream/passes"
)

// A lowered is a package whose tensors are being listed.
type lowered struct {
	*layout.Package
	module  *ir.Module
	packing lower.Packing
	records map[string]passes.Record
	files   map[string]*os.File
	cut     map[string]bool // matrices that are blocks of rows; see inPanels
	tensors []Tensor
}

// OpenPackage lists the weights of a package that may use some ops and has one of
// the known packings. The package may come from a stranger.
func OpenPackage(dir string, ops ir.Ops, known []lower.Packing) (*Set, error) {
	pkg, err := layout.Open(dir)
	if err != nil {
		return nil, err
	}
	p := &lowered{Package: pkg, files: map[string]*os.File{}, cut: map[string]bool{}}
	if err = p.open(ops, known); err == nil {
		err = p.list()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("package %s: %w", dir, err), p.close())
	}
	return (&Set{Tensors: p.tensors, Module: p.module, Close: p.close}).sorted(), nil
}

func (p *lowered) open(ops ir.Ops, known []lower.Packing) (err error) {
	i := slices.IndexFunc(known, func(x lower.Packing) bool { return x.Name == p.Manifest.Packing })
	if i < 0 {
		return fmt.Errorf("its packing %q is none that this program knows", p.Manifest.Packing)
	}
	p.packing = known[i]
	if p.module, err = ir.Parse(p.Manifest.Module, ops); err != nil {
		return err
	}
	if err := p.module.Verify(); err != nil {
		return err
	}
	if p.records, err = passes.Records(p.module, p.packing); err != nil {
		return err
	}
	for _, name := range []string{layout.DenseName, layout.ExpertsName} {
		if p.files[name], err = os.Open(p.Path(name)); err != nil {
			return err
		}
	}
	return nil
}

func (p *lowered) close() error {
	var errs []error
	for _, f := range p.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// list lists the tensors of all records and of the table.
func (p *lowered) list() error {
	layers := len(p.module.Layers)
	for _, r := range p.Manifest.Experts {
		if err := p.record(layout.ExpertsName, ID{r.Layer, r.Index, ""}, r); err != nil {
			return err
		}
	}
	var runs []layout.Record
	for _, r := range p.Manifest.Dense {
		id := ID{r.Layer, -1, ""}
		switch {
		case r.Layer >= layers && r.Index > 0:
			runs = append(runs, r)
			continue
		case r.Layer >= layers:
			id.Layer = -1
		}
		if err := p.record(layout.DenseName, id, r); err != nil {
			return err
		}
	}
	if len(p.Manifest.Rows) != 1 {
		return errors.New("it has not one table of embeddings")
	}
	if err := p.head(runs); err != nil {
		return err
	}
	return p.table()
}

// record lists the tensors of a record.
func (p *lowered) record(file string, id ID, r layout.Record) error {
	class, ok := p.records[r.Class]
	if !ok || class.Len != r.Length || len(class.Weights) != len(r.Factors) {
		return fmt.Errorf("%s: the record of layer %d index %d is none of class %q", file, r.Layer, r.Index, r.Class)
	}
	for i, w := range class.Weights {
		id.Name = w.Name
		s, err := p.strip(file, r.Offset+w.Offset, w, r.Factors[i])
		if err != nil {
			return fmt.Errorf("%s: %s: %w", file, id, err)
		}
		p.tensors = append(p.tensors, tensor(id, shape(w.Type), s))
	}
	return nil
}

// head lists the head, which is runs of columns.
func (p *lowered) head(runs []layout.Record) error {
	if len(runs) == 0 {
		return errors.New("it has no head")
	}
	vocab := int(p.Manifest.Rows[0].Rows)
	columns := layout.RunColumns(vocab, len(runs), panel)
	var strips []*strip
	var last passes.RecordWeight
	for i, r := range runs {
		n := min(columns, vocab-i*columns)
		class, err := p.records[passes.HeadProj].Bind(p.packing, lower.Dims{"P": n})
		if err != nil || n <= 0 || class.Len != r.Length || len(class.Weights) != 1 || len(r.Factors) != 1 {
			return errors.Join(fmt.Errorf("%s: run %d of the head is none of %d columns", layout.DenseName, i, n), err)
		}
		last = class.Weights[0]
		s, err := p.strip(layout.DenseName, r.Offset+last.Offset, last, r.Factors[0])
		if err != nil {
			return fmt.Errorf("%s: run %d of the head: %w", layout.DenseName, i, err)
		}
		strips = append(strips, s)
	}
	p.tensors = append(p.tensors, tensor(ID{-1, -1, last.Name}, []int{vocab, strips[0].width}, strips...))
	return nil
}

// table lists the embeddings.
func (p *lowered) table() error {
	region, ws := p.Manifest.Rows[0], p.module.Graph(passes.EmbedGraph).Weights()
	if len(ws) != 1 || ws[0].Type.Rank() != 2 || ws[0].Type.Last().Sym != "" {
		return fmt.Errorf("graph %s has not one table", passes.EmbedGraph)
	}
	w, k := ws[0], ws[0].Type.Last().N
	size, err := lower.PlainSize(ir.Tensor(w.Type.DType, ir.N(1), ir.N(k)))
	if err != nil || size != region.RowBytes || region.Rows < 1 {
		return errors.Join(fmt.Errorf("%s: rows of table %s have %d bytes, and should have %d", layout.DenseName, region.Name, region.RowBytes, size), err)
	}
	s := &strip{file: p.files[layout.DenseName], at: region.Offset, unpack: unpackPlain}
	s.stored = stored{dtype: w.Type.DType, rows: int(region.Rows), width: k, factor: region.Factor, block: 1, blockBytes: region.RowStride, lastBytes: size}
	p.tensors = append(p.tensors, tensor(ID{-1, -1, w.Name}, []int{s.rows, k}, s))
	return nil
}

func shape(t ir.Type) []int {
	var out []int
	for _, d := range t.Dims {
		out = append(out, d.N)
	}
	return out
}
