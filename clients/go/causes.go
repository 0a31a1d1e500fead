package dibs

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
)

const (
	// mostCauses bounds how far an error is followed: it may be its own cause.
	mostCauses = 50
	// mostText bounds what is said of a failure. Dibs keeps its first 16 KiB.
	mostText = 64 << 10
)

// each visits an error and its causes, until visit returns false.
func each(err error, visit func(error) bool) {
	left := mostCauses
	var follow func(error) bool
	follow = func(err error) bool {
		if err == nil || left == 0 {
			return true
		}
		left--
		if !visit(err) {
			return false
		}
		for _, cause := range causesOf(err) {
			if left == 0 || !follow(cause) {
				return false
			}
		}
		return true
	}
	follow(err)
}

func causesOf(err error) (causes []error) {
	defer func() { _ = recover() }()
	switch wrapper := err.(type) {
	case interface{ Unwrap() error }:
		return []error{wrapper.Unwrap()}
	case interface{ Unwrap() []error }:
		return wrapper.Unwrap()
	}
	return nil
}

// find is errors.As that ends, whatever the error is. A nil pointer is not found.
func find[T interface {
	error
	comparable
}](err error) (found T, isFound bool) {
	var none T
	each(err, func(one error) bool {
		if match, fits := one.(T); fits && match != none {
			found, isFound = match, true
		}
		return !isFound
	})
	return found, isFound
}

// textOf says what an error says, and of its causes what it does not say itself.
func textOf(err error) string {
	text := strings.Builder{}
	each(err, func(one error) bool {
		said := ownText(one)
		switch {
		case text.Len() == 0:
			text.WriteString(said)
		case !strings.Contains(text.String(), said):
			text.WriteString("\ncaused by: " + said)
		}
		return text.Len() < mostText
	})
	if panicked, isPanic := find[*Panic](err); isPanic {
		fmt.Fprintf(&text, "\n\n%s", panicked.Stack)
	}
	said := text.String()
	said = strings.ToValidUTF8(said[:min(len(said), mostText)], "\uFFFD")
	return strings.ReplaceAll(said, "\x00", "\uFFFD")
}

func ownText(err error) string { return safeText(err, err.Error) }

// safeText calls what may panic: the value may be a nil pointer.
func safeText(value any, say func() string) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a value of type %T, whose text panics", value)
		}
	}()
	text = say()
	return text[:min(len(text), mostText)]
}

// Panic is the error of a handler that panicked.
type Panic struct {
	Value any
	// Stack is where it happened.
	Stack []byte
	text  string
}

func (p *Panic) Error() string { return "panic: " + p.text }

// Unwrap is the value, if it is an error.
func (p *Panic) Unwrap() error {
	cause, _ := p.Value.(error)
	return cause
}

// guarded makes an error of a panic. It does not return when act ends its goroutine.
func guarded(act func() error) (err error) {
	hasReturned := false
	defer func() {
		if !hasReturned {
			value := recover()
			err = &Panic{Value: value, Stack: stackOfPanic(), text: textOfValue(value)}
		}
	}()
	err = act()
	hasReturned = true
	return err
}

// stackOfPanic leaves out the frames of the panic itself.
func stackOfPanic() []byte {
	stack := debug.Stack()
	if _, after, isThere := strings.Cut(string(stack), "\npanic("); isThere {
		if lines := strings.SplitN(after, "\n", 3); len(lines) == 3 {
			return []byte(lines[2])
		}
	}
	return stack
}

// textOfValue prints what may be a cycle: fmt would never end with one, json refuses it.
func textOfValue(value any) string {
	switch value := value.(type) {
	case nil, bool, string, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr, float32, float64,
		complex64, complex128:
		return fmt.Sprint(value)
	case error:
		return ownText(value)
	case fmt.Stringer:
		return safeText(value, value.String)
	}
	var content []byte
	if guarded(func() (err error) { content, err = json.Marshal(value); return err }) != nil {
		return fmt.Sprintf("a value of type %T", value)
	}
	return fmt.Sprintf("%T %s", value, content)
}
