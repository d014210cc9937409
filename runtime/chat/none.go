package chat

import "github.com/nikolalohinski/gonja/v2/exec"

// A noneType is of Python's None, which gonja does not tell from what is undefined:
// it prints, equals itself alone and is false. That is what gonja makes of this kind.
type noneType uintptr

const none noneType = 0

func (noneType) String() string { return "None" }

func isNone(v *exec.Value) bool {
	_, is := v.Interface().(noneType)
	return is
}
