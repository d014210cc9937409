package diff

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"estream/lower"
	"estream/pager/layout"
	"estream/runtime"
)

// A Prompt is what both models are run on, one after the other.
type Prompt struct {
	A, B func(ctx context.Context) (*Ready, error) // open the models; called once each
}

// A Ready is a model that is open, and the token ids that it makes of the prompt.
type Ready struct {
	Model  *runtime.Model
	Tokens []int32
}

// Logits is how far apart the logits of a prompt are, at all its positions.
type Logits struct {
	Same      bool    `json:"same"`
	Why       string  `json:"why,omitempty"` // not compared
	TokensA   []int32 `json:"tokens_a"`
	TokensB   []int32 `json:"tokens_b"`
	Positions int     `json:"positions"`
	Agree     int     `json:"agree"`      // positions whose likeliest token is the same
	Max       float64 `json:"max"`        // the largest difference of a logit
	MaxAt     int     `json:"max_at"`     // its position
	MeanKL    float64 `json:"mean_kl"`    // of b's distribution from a's, in nats, mean over positions
	MostKL    float64 `json:"most_kl"`    // the largest of a position
	MostKLAt  int     `json:"most_kl_at"` // its position
	Odd       int     `json:"odd"`        // positions with a logit that is NaN or infinite, compared no further

	LastA []float32 `json:"-"` // of the last position
	LastB []float32 `json:"-"`
}

// logits runs both models; the logits of the first wait in f.
func logits(ctx context.Context, p *Prompt, f *os.File) (*Logits, error) {
	l := &Logits{}
	w := bufio.NewWriterSize(f, 1<<20)
	vocab := 0
	var lack, err error
	fits := func(tokens []int32, n int) bool {
		lack = room(f, 4*int64(len(tokens))*int64(n))
		return lack == nil
	}
	l.TokensA, err = visit(ctx, p.A, fits, func(_ int, row []float32) error {
		vocab, l.LastA = len(row), append(l.LastA[:0], row...)
		return binary.Write(w, binary.LittleEndian, row)
	})
	if err := errors.Join(lack, err); err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	in, was := bufio.NewReaderSize(f, 1<<20), make([]float32, vocab)
	accept := func(tokens []int32, n int) bool {
		switch {
		case !slices.Equal(tokens, l.TokensA):
			l.Why = "the tokenizers make other tokens of the prompt"
		case n != vocab:
			l.Why = fmt.Sprintf("the vocabularies have %d and %d tokens", vocab, n)
		}
		return l.Why == ""
	}
	l.TokensB, err = visit(ctx, p.B, accept, func(pos int, row []float32) error {
		if _, err := io.ReadFull(in, lower.Wrap(was).Bytes()); err != nil {
			return err
		}
		l.LastB = append(l.LastB[:0], row...)
		l.add(pos, was, row)
		return nil
	})
	l.MeanKL /= float64(max(1, l.Positions-l.Odd))
	l.Same = l.Why == "" && l.Max == 0 && l.Odd == 0
	return l, err
}

// room returns an error if there is none for so many bytes where f is.
func room(f *os.File, bytes int64) error {
	dir := filepath.Dir(f.Name())
	free, err := layout.FreeSpace(dir)
	if err == nil && bytes > free {
		err = fmt.Errorf("logits wait in a temporary file: %d bytes are needed and %d are free in %s: make room there, or set TMPDIR to another folder", bytes, free, dir)
	}
	return err
}

// visit opens a model and shows each position's logits, where accept takes its tokens
// and vocabulary.
func visit(ctx context.Context, open func(context.Context) (*Ready, error), accept func(tokens []int32, vocab int) bool, each func(pos int, row []float32) error) (tokens []int32, err error) {
	r, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Model.Close()
	if !accept(r.Tokens, r.Model.Vocab()) {
		return r.Tokens, nil
	}
	_, err = r.Model.Run(ctx, runtime.Batch{Prompts: [][]int32{r.Tokens}, Logits: runtime.All, Each: each})
	return r.Tokens, err
}

// add compares the logits of a position.
func (l *Logits) add(pos int, a, b []float32) {
	l.Positions++
	if za := logSum(a) + logSum(b); math.IsNaN(za) || math.IsInf(za, 0) {
		l.Odd++
		return
	}
	if largest(a) == largest(b) {
		l.Agree++
	}
	za, zb, kl := logSum(a), logSum(b), 0.0
	for i, x := range a {
		d := math.Abs(float64(x) - float64(b[i]))
		if d > l.Max {
			l.Max, l.MaxAt = d, pos
		}
		p := float64(x) - za
		kl += math.Exp(p) * (p - (float64(b[i]) - zb))
	}
	kl = max(0, kl) // of equal ones it is a rounding error
	l.MeanKL += kl
	if kl > l.MostKL {
		l.MostKL, l.MostKLAt = kl, pos
	}
}

func largest(row []float32) int {
	at := 0
	for i, x := range row {
		if x > row[at] {
			at = i
		}
	}
	return at
}

// logSum is the logarithm of the sum of the exponentials.
func logSum(row []float32) float64 {
	most, sum := float64(slices.Max(row)), 0.0
	for _, x := range row {
		sum += math.Exp(float64(x) - most)
	}
	return most + math.Log(sum)
}
