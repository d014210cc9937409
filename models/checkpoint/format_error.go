package checkpoint

import "fmt"

// A FormatError is a file that breaks a rule of its format.
type FormatError struct {
	File   string
	Tensor string // "" where the rule is about the file
	Rule   Rule
	Detail string // what was found, and what was due
}

func (e *FormatError) Error() string {
	if e.Tensor == "" {
		return fmt.Sprintf("%s: %s: %s", e.File, e.Rule, e.Detail)
	}
	return fmt.Sprintf("%s: tensor %.80q: %s: %s", e.File, e.Tensor, e.Rule, e.Detail)
}

// A Rule is what a file must keep to.
type Rule string

// The rules of safetensors (https://github.com/huggingface/safetensors#format). The index keeps those of JSON.
const (
	RuleLength  Rule = "header length"    // at most 100 MB
	RuleCut     Rule = "cut file"         // as long as the header says
	RuleExcess  Rule = "excess bytes"     // and no longer
	RuleJSON    Rule = "json"             // one UTF-8 object from the first byte on, then white space
	RuleKey     Rule = "duplicate key"    // no object has a key twice
	RuleField   Rule = "fields"           // a tensor has dtype, shape and data_offsets, nothing else
	RuleMeta    Rule = "metadata"         // __metadata__ holds strings
	RuleNumber  Rule = "number"           // whole, not negative, in range
	RuleDType   Rule = "dtype"            // one that the format has
	RuleShape   Rule = "shape"            // its size, which must not overflow, is that of the data
	RuleOffsets Rule = "offsets"          // two, in order
	RuleHole    Rule = "hole"             // every byte belongs to a tensor
	RuleOverlap Rule = "overlap"          // and to no other
	RuleTensor  Rule = "duplicate tensor" // no two shards hold one name
)
