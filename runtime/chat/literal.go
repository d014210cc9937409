package chat

import "github.com/nikolalohinski/gonja/v2/tokens"

// literal returns what stands for tokens of [k,j) that gonja takes for others, and the token
// behind them: None, and texts next to each other; else k.
func (r *rewriter) literal(k, j int) (string, int) {
	end := k
	for end < j && r.toks[end].Type == tokens.String {
		end++
	}
	switch t := r.toks[k]; {
	case t.Type == tokens.Name && t.Val == "None":
		return "none", k + 1
	case end > k+1:
		text := "("
		for i := k; i < end; i++ {
			text += r.text[r.toks[i].Pos:r.end(i)] + "~"
		}
		return text[:len(text)-1] + ")", end
	}
	return "", k
}
