package chat

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	// atLine is how gonja says where in a template it was, from the outermost statement inwards.
	atLine = regexp.MustCompile(`at line (\d+): `)
	// filterDump is how it says which filter.
	filterDump = regexp.MustCompile(`unable to evaluate filter &\{<Token.*?\}: `)
)

// tell words an error of gonja's, which holds what it made of the template: the line, and what was wrong.
func (t *Template) tell(err error) string {
	cause := err
	for inner := errors.Unwrap(cause); inner != nil; inner = errors.Unwrap(cause) {
		cause = inner
	}
	text, what, where := err.Error(), cause.Error(), ""
	if at := atLine.FindAllStringSubmatchIndex(text, -1); len(at) > 0 {
		last := at[len(at)-1]
		what = what[max(0, last[1]-(len(text)-len(what))):] // where a macro's error is text within the cause
		n, _ := strconv.Atoi(text[last[2]:last[3]])
		if lines := strings.Split(t.text, "\n"); n > 0 && n <= len(lines) {
			where = fmt.Sprintf(" line %d, %q:", n, short(strings.TrimSpace(lines[n-1])))
		}
	}
	return fmt.Sprintf("%s:%s %s", t.name, where, short(filterDump.ReplaceAllString(what, "")))
}

// short leaves out the middle of a long message: gonja's hold the values that it is about.
func short(message string) string {
	const most = 400
	if len(message) <= 2*most {
		return message
	}
	return strings.ToValidUTF8(message[:most]+" ... "+message[len(message)-most:], "")
}
