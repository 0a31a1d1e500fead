package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"unicode/utf8"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// silent says nothing of its causes itself.
type silent struct {
	text   string
	causes []error
}

func (s *silent) Error() string   { return s.text }
func (s *silent) Unwrap() []error { return s.causes }

func chain(texts ...string) error {
	top := &silent{text: texts[0]}
	inner := top
	for _, text := range texts[1:] {
		next := &silent{text: text}
		inner.causes, inner = []error{next}, next
	}
	return top
}

func lastError(t *testing.T, err error) string {
	t.Helper()
	fake := dibstest.New()
	enqueue(t, fake, 1)
	return finish(t, fake, &dibs.Worker{Handler: func(context.Context, *dibs.Work) error { return err }})[0].Error
}

func TestAnErrorTellsItsCausesFromTheOutsideIn(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	circle := &silent{text: "one"}
	circle.causes = []error{&silent{text: "two", causes: []error{circle}}}
	root := errors.New("root")
	for name, one := range map[string]struct {
		err  error
		says string
	}{
		"a chain":                   {chain("load the order", "fetch failed", "refused"), "load the order: fetch failed: refused"},
		"causes that it says":       {fmt.Errorf("load: %w", refused), "load: dial tcp: connection refused"},
		"causes of a cause":         {&silent{"load", []error{fmt.Errorf("fetch: %w", refused)}}, "load: fetch: dial tcp: connection refused"},
		"a group":                   {errors.Join(errors.New("a"), errors.New("b")), "a; b"},
		"a group that says nothing": {&silent{"all failed", []error{errors.New("x"), chain("y", "z"), nil}}, "all failed: x; y: z"},
		"a circle":                  {circle, "one: two"},
		"a cause that came twice":   {&silent{"top", []error{root, &silent{"mid", []error{root}}}}, "top: root; mid"},
		"causes of a Nack":          {dibs.Dead(chain("wrong", "really")), "wrong: really"},
		"a cause without a text":    {&silent{"top", []error{mute{}}}, "top: a value that has no text (dibs_test.mute)"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastError(t, one.err); got != one.says {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestWhatIsSaidOfAFailureIsBounded(t *testing.T) {
	texts := make([]string, 1000)
	for i := range texts {
		texts[i] = fmt.Sprintf("cause %d;", i)
	}
	many := lastError(t, chain(append([]string{"top"}, texts...)...))
	if !strings.Contains(many, "cause 7;") || strings.Contains(many, "cause 8;") {
		t.Errorf("got %s", many)
	}
	large := lastError(t, chain(strings.Repeat("é", 1<<20), strings.Repeat("x", 1<<20), "the root"))
	if utf8.RuneCountInString(large) > 16_384 || !strings.HasSuffix(large, "…: the root") || !utf8.ValidString(large) {
		t.Errorf("got %d characters, at the end %s", utf8.RuneCountInString(large), large[max(0, len(large)-50):])
	}
	if odd := lastError(t, errors.New("a\x00b\xffc")); odd != "a\uFFFDb\uFFFDc" {
		t.Errorf("got %q", odd)
	}
	wide := make([]error, 100_000)
	for i := range wide {
		wide[i] = errors.New("one of many")
	}
	if got := lastError(t, &silent{"top", wide}); got != "top: one of many" {
		t.Errorf("got %.100s", got)
	}
}

func TestIsTemporaryEndsWithAnErrorThatWrapsItself(t *testing.T) {
	for _, err := range []error{nil, &itself{}, many{}, unwraps{}, &dibs.ConnectionError{Err: &itself{}}} {
		_, isBroken := err.(*dibs.ConnectionError)
		if dibs.IsTemporary(err) != isBroken {
			t.Errorf("%T: got %v", err, dibs.IsTemporary(err))
		}
	}
}
