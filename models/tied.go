package models

import (
	"context"
	"fmt"
	"slices"
)

// tie lets the head read the embedding where the checkpoint has no head of its
// own, unless config.json says that they differ.
func (m *Model) tie() {
	head, has := m.weights["head.weight"]
	_, t, own := m.source("head.weight", 0, 0)
	stated := m.Config.Has("tie_word_embeddings")
	if own && !stated {
		m.note("config.json has no tie_word_embeddings: the head is %s", t.Name)
	}
	if own || !has || stated && !m.Config.TieWordEmbeddings {
		return
	}
	m.weights = m.weights.With(Weights{"head.weight": head.Or(m.weights["embed.weight"].From...)})
	if !stated {
		m.note("config.json has no tie_word_embeddings, and the checkpoint no head: the head is the embedding")
	}
}

// Tied reports whether head and embedding are one tensor, to the checkpoint or to
// config.json.
func (m *Model) Tied() bool {
	_, head, _ := m.source("head.weight", 0, 0)
	_, embed, _ := m.source("embed.weight", 0, 0)
	return m.Config.TieWordEmbeddings || head.Name == embed.Name
}

// untied explains the lack of a head.
func (m *Model) untied(weight string) string {
	if weight == "head.weight" && !m.Config.TieWordEmbeddings {
		return " (tie_word_embeddings is false)"
	}
	return ""
}

// CompareHead reads the head and the embedding of a model that config.json says
// are one, where the checkpoint has both, and says what is used; empty if there is
// nothing to compare. The head is used, as transformers 5 does: where they are
// equal it does not matter, and where they differ the head was trained apart.
func (m *Model) CompareHead(ctx context.Context) (note string, err error) {
	_, head, _ := m.source("head.weight", 0, 0)
	_, embed, _ := m.source("embed.weight", 0, 0)
	if !m.Config.TieWordEmbeddings || head.Name == embed.Name {
		return "", nil
	}
	rows, width := m.Config.VocabSize, m.Config.HiddenSize
	step := min(rows, max(1, chunk/width))
	a, b := make([]float32, step*width), make([]float32, step*width)
	for row := 0; row < rows; row += step {
		n := min(step, rows-row)
		a, b = a[:n*width], b[:n*width]
		if err := m.Read(ctx, "head.weight", 0, 0, row, n, a); err != nil {
			return "", err
		}
		if err := m.Read(ctx, "embed.weight", 0, 0, row, n, b); err != nil {
			return "", err
		}
		if !slices.Equal(a, b) {
			return fmt.Sprintf("tie_word_embeddings is true, but %s differs from %s: %s is used for the head", head.Name, embed.Name, head.Name), nil
		}
	}
	return fmt.Sprintf("tie_word_embeddings is true, and %s equals %s: %s is used for the head", head.Name, embed.Name, head.Name), nil
}
