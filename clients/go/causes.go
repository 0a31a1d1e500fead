package dibs

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"unicode/utf8"
)

const (
	// mostSteps bounds how far an error is followed: it may be its own cause.
	mostSteps = 100
	// mostCauses are told, with so many characters each. mostText is what Dibs keeps of all that is said of a failure.
	mostCauses = 8
	mostCause  = 1000
	mostText   = 16_384
)

// each visits an error and its causes, until visit returns false.
func each(err error, visit func(error) bool) {
	left := mostSteps
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

// withCauses says what an error says, then its causes, from the outside in.
func withCauses(err error) string {
	own := ownText(err)
	causes := account{said: cut(own, mostText/2), stepsLeft: mostSteps, causesLeft: mostCauses}
	causes.add(err)
	return cut(own, mostText-utf8.RuneCountInString(causes.text)) + causes.text
}

// textOf is withCauses, and at last the stack of a panic.
func textOf(err error) string {
	said := withCauses(err)
	if panicked, isPanic := find[*Panic](err); isPanic {
		said += "\n" + string(panicked.Stack)
	}
	return cut(strings.ReplaceAll(strings.ToValidUTF8(said, "\uFFFD"), "\x00", "\uFFFD"), mostText)
}

// account is what was said so far, and what of it are causes.
type account struct {
	said, text            string
	stepsLeft, causesLeft int
}

// add tells the causes that were not told yet. Those of a group stand side by side.
func (a *account) add(err error) {
	between := ": "
	for _, cause := range causesOf(err) {
		if cause == nil || a.stepsLeft == 0 || a.causesLeft == 0 {
			continue
		}
		a.stepsLeft--
		if text := cut(ownText(cause), mostCause); !strings.Contains(a.said, text) {
			a.causesLeft--
			a.said += between + text
			a.text += between + text
			between = "; "
		}
		a.add(cause)
	}
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	count, end := 0, 0
	for i := range text {
		if count++; count == most {
			end = i
		} else if count > most {
			return text[:end] + "…"
		}
	}
	return text
}

// userinfo of a URL may be a password: of Dibs, or of a proxy that the environment names.
var userinfo = regexp.MustCompile(`//[^/\s"]*@`)

// ownText is what an error says itself, without passwords.
func ownText(err error) string { return userinfo.ReplaceAllLiteralString(fullText(err), "//…@") }

// fullText: a group of errors.Join has a line for each.
func fullText(err error) string {
	text := safeText(err)
	if _, isGroup := err.(interface{ Unwrap() []error }); isGroup {
		texts := []string{}
		for _, one := range causesOf(err) {
			texts = append(texts, safeText(one))
		}
		if text == strings.Join(texts, "\n") {
			return strings.Join(texts, "; ")
		}
	}
	return text
}

// safeText asks what may panic: the value may be a nil pointer.
func safeText(value any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a value that has no text (%T)", value)
		}
	}()
	if err, isError := value.(error); isError {
		return err.Error()
	}
	return value.(fmt.Stringer).String()
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
		return safeText(value)
	}
	return jsonOf(value)
}

// jsonOf asks what may panic, even with the value itself.
func jsonOf(value any) (text string) {
	text = fmt.Sprintf("a value of type %T", value)
	defer func() { _ = recover() }()
	if content, err := json.Marshal(value); err == nil {
		text = fmt.Sprintf("%T %s", value, content)
	}
	return text
}
