package dibs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

type mute struct{}

func (mute) Error() string { panic("no text") }

type muteStringer struct{}

func (muteStringer) String() string { panic("no text") }

type gone struct{}

func (gone) Error() string { runtime.Goexit(); return "" }

type own struct{ text string }

func (o *own) Error() string { return o.text }

type itself struct{}

func (i *itself) Error() string { return "its own cause" }
func (i *itself) Unwrap() error { return i }

type many struct{}

func (m many) Error() string { return "many of itself" }
func (m many) Unwrap() []error {
	return []error{m, m, m, m}
}

type unwraps struct{}

func (unwraps) Error() string { return "unwraps" }
func (unwraps) Unwrap() error { panic("no cause") }

type uncomparable []string

func (u uncomparable) Error() string { return strings.Join(u, " ") }

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { panic("cannot be written") }

type unwritableAgain struct{}

func (u unwritableAgain) MarshalJSON() ([]byte, error) { panic(u) }

type goneResult struct{}

func (goneResult) MarshalJSON() ([]byte, error) { runtime.Goexit(); return nil, nil }

func endless() any {
	list := []any{nil}
	list[0] = list
	return list
}

func deref() int {
	var none *own
	return len(none.text)
}

// failures are endings of a handler, each with what last_error then says.
var failures = map[string]struct {
	end  func(*dibs.Work) error
	says string
}{
	"panic with a text":            {func(*dibs.Work) error { panic("boom") }, "panic: boom"},
	"panic with nil":               {func(*dibs.Work) error { panic(nil) }, "panic: "},
	"panic with an error":          {func(*dibs.Work) error { panic(errors.New("broken")) }, "panic: broken"},
	"panic of the runtime":         {func(*dibs.Work) error { deref(); return nil }, "nil pointer"},
	"panic with a struct":          {func(*dibs.Work) error { panic(struct{ Code int }{7}) }, `{"Code":7}`},
	"panic with a function":        {func(*dibs.Work) error { panic(func() {}) }, "func()"},
	"panic with a cycle":           {func(*dibs.Work) error { panic(endless()) }, "[]interface {}"},
	"panic that panics again":      {func(*dibs.Work) error { panic(unwritableAgain{}) }, "panic: a value of type dibs_test.unwritableAgain"},
	"panic whose Error panics":     {func(*dibs.Work) error { panic(mute{}) }, "mute"},
	"panic whose String panics":    {func(*dibs.Work) error { panic(muteStringer{}) }, "muteStringer"},
	"panic whose Error exits":      {func(*dibs.Work) error { panic(gone{}) }, "runtime.Goexit"},
	"panic with a nil error":       {func(*dibs.Work) error { panic((*own)(nil)) }, "own"},
	"panic with a Release":         {func(*dibs.Work) error { panic(&dibs.Release{}) }, "released"},
	"runtime.Goexit":               {func(*dibs.Work) error { runtime.Goexit(); return nil }, "runtime.Goexit"},
	"an error whose Error panics":  {func(*dibs.Work) error { return mute{} }, "mute"},
	"an error whose Error exits":   {func(*dibs.Work) error { return gone{} }, "runtime.Goexit"},
	"an error whose Unwrap panics": {func(*dibs.Work) error { return unwraps{} }, "unwraps"},
	"an error that wraps itself":   {func(*dibs.Work) error { return &itself{} }, "its own cause"},
	"an error of many of itself":   {func(*dibs.Work) error { return many{} }, "many of itself"},
	"an error without comparison":  {func(*dibs.Work) error { return uncomparable{"a", "b"} }, "a b"},
	"an error that is a nil value": {func(*dibs.Work) error { return (*own)(nil) }, "own"},
	"a Nack that is nil":           {func(*dibs.Work) error { return (*dibs.Nack)(nil) }, "Nack"},
	"a Nack without an error":      {func(*dibs.Work) error { return &dibs.Nack{} }, "did not say why"},
	"a Release that is nil":        {func(*dibs.Work) error { return (*dibs.Release)(nil) }, "released"},
	"context.Canceled":             {func(*dibs.Work) error { return context.Canceled }, "context canceled"},
	"context.DeadlineExceeded": {func(*dibs.Work) error {
		return fmt.Errorf("asking: %w", context.DeadlineExceeded)
	}, "asking: context deadline exceeded"},
	"an error of a megabyte": {func(*dibs.Work) error { return errors.New(strings.Repeat("é", 1<<19)) }, "éé"},
	"a result that exits": {func(job *dibs.Work) error {
		job.SetResult(goneResult{})
		return nil
	}, "runtime.Goexit"},
}

func TestWhateverAHandlerEndsWithIsAFailureThatIsChargedAndTheOthersGoOn(t *testing.T) {
	for name, failure := range failures {
		t.Run(name, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 3)
			worker := &dibs.Worker{Concurrency: 2, Handler: func(_ context.Context, job *dibs.Work) error {
				if job.ID == "job-1" {
					return failure.end(job)
				}
				return nil
			}}
			jobs := finish(t, fake, worker)
			bad := jobs[0]
			if bad.State != "dead" || bad.Attempt != 5 || bad.Deliveries != 5 || !strings.Contains(bad.Error, failure.says) {
				t.Errorf("got %s after %d attempts: %.300s", bad.State, bad.Attempt, bad.Error)
			}
			if jobs[1].State != "completed" || jobs[2].State != "completed" {
				t.Errorf("the others are %s and %s", jobs[1].State, jobs[2].State)
			}
		})
	}
}

func TestAPanicOfNilIsNoSuccessWhereGoHidesIt(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	fake := dibstest.New()
	enqueue(t, fake, 1)
	jobs := finish(t, fake, &dibs.Worker{Handler: func(context.Context, *dibs.Work) error { panic(nil) }})
	if jobs[0].State != "dead" {
		t.Errorf("got %s", jobs[0].State)
	}
}

func TestAResultThatCannotBeWrittenMakesItsJobDead(t *testing.T) {
	results := map[string]any{
		"panics": unwritable{}, "panics with itself": unwritableAgain{}, "is a function": func() {}, "is a cycle": endless(), "is no JSON": json.RawMessage("{"),
	}
	for name, result := range results {
		t.Run(name, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 1)
			jobs := finish(t, fake, &dibs.Worker{Handler: func(_ context.Context, job *dibs.Work) error {
				job.SetResult(result)
				return nil
			}})
			if jobs[0].State != "dead" || jobs[0].Attempt != 1 || !strings.Contains(jobs[0].Error, "cannot be written as JSON") {
				t.Errorf("got %s after %d attempts: %.300s", jobs[0].State, jobs[0].Attempt, jobs[0].Error)
			}
		})
	}
}

func TestProgressThatCannotBeWrittenIsAFailureOfItsHandlerAlone(t *testing.T) {
	for name, progress := range map[string]any{"panics": unwritable{}, "exits": goneResult{}} {
		t.Run(name, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 2)
			jobs := finish(t, fake, &dibs.Worker{Handler: func(_ context.Context, job *dibs.Work) error {
				if job.ID == "job-1" {
					return job.Report(progress)
				}
				return nil
			}})
			if jobs[0].State != "dead" || jobs[0].Attempt != 5 || jobs[1].State != "completed" {
				t.Errorf("got %+v", jobs)
			}
		})
	}
}

func TestTheStackOfAPanicIsKept(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	jobs := finish(t, fake, &dibs.Worker{Handler: func(context.Context, *dibs.Work) error {
		deref()
		return nil
	}})
	lines := strings.Split(jobs[0].Error, "\n")
	if len(lines) < 5 || !strings.Contains(jobs[0].Error, "dibs_test.deref") || !strings.Contains(jobs[0].Error, "ends_test.go:") {
		t.Errorf("got %s", jobs[0].Error)
	}
}

func TestAHandlerThatWritesIntoItsJobSettlesTheRightOne(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 2)
	jobs := finish(t, fake, &dibs.Worker{Handler: func(_ context.Context, job *dibs.Work) error {
		job.ID, job.LeaseToken, job.LeaseSeconds = "job-1", "mine", -1
		return nil
	}})
	for _, job := range jobs {
		if job.State != "completed" || job.Deliveries != 1 {
			t.Errorf("got %+v", job)
		}
	}
}
