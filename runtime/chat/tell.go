package chat

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	// column is how gonja says where in a line of what it was given, which is rewritten.
	column = regexp.MustCompile(` Col: \d+`)
	// atLine is how gonja says where in a template it was, from the outermost statement inwards.
	atLine = regexp.MustCompile(`at line (\d+): `)
	// filterDump is how it says which filter.
	filterDump = regexp.MustCompile(`unable to evaluate filter &\{<Token.*?\}: |invalid call to filter '[^']*': |filtered_expression\([^:\n]*\): `)
)

// told is an error of gonja's about a template, without all its text and the places in its lines.
func told(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return errors.New(column.ReplaceAllString(inner.Error(), ""))
	}
	return err
}

// tell words an error of gonja's, which holds what it made of the template: the line, and what was wrong.
func (t *Template) tell(err error) string {
	cause := err
	for inner := errors.Unwrap(cause); inner != nil; inner = errors.Unwrap(cause) {
		cause = inner
	}
	text, what := err.Error(), cause.Error()
	if at := atLine.FindAllStringIndex(text, -1); len(at) > 0 {
		what = what[max(0, at[len(at)-1][1]-(len(text)-len(what))):] // where a macro's error is text within the cause
	}
	return t.name + ":" + t.where(err) + " " + short(filterDump.ReplaceAllString(what, ""))
}

// placed is why a rendering stopped, with the line where gonja was, if it says that.
func (t *Template) placed(stopped, err error) error {
	_, says := stopped.(refusal)
	if says || err == nil || t.where(err) == "" {
		return stopped
	}
	return fmt.Errorf("%s:%s %w", t.name, t.where(err), stopped)
}

// where is the line that an error of gonja's is of, if it says that.
func (t *Template) where(err error) string {
	at := atLine.FindAllStringSubmatch(err.Error(), -1)
	if len(at) == 0 {
		return ""
	}
	n, _ := strconv.Atoi(at[len(at)-1][1])
	lines := strings.Split(t.text, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return fmt.Sprintf(" line %d, %q:", n, short(strings.TrimSpace(lines[n-1])))
}

// short leaves out the middle of a long message: gonja's hold the values that it is about.
func short(message string) string {
	const most = 400
	if len(message) <= 2*most {
		return message
	}
	return strings.ToValidUTF8(message[:most]+" ... "+message[len(message)-most:], "")
}
