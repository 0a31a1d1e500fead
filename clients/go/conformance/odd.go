package main

import (
	"context"
	"errors"
	"runtime"

	"dibs.example/dibs"
)

type mute struct{}

func (mute) Error() string { panic("no text") }

type exits struct{}

func (exits) Error() string { runtime.Goexit(); return "" }

type itself struct{}

func (i *itself) Error() string { return "its own cause" }
func (i *itself) Unwrap() error { return i }

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { panic("cannot be written") }

func circle() any {
	list := []any{nil}
	list[0] = list
	return list
}

func result(value any) func(*dibs.Work) error {
	return func(job *dibs.Work) error {
		job.SetResult(value)
		return nil
	}
}

func panics(value any) func(*dibs.Work) error { return func(*dibs.Work) error { panic(value) } }

func fails(err error) func(*dibs.Work) error { return func(*dibs.Work) error { return err } }

// oddEnds are ends of a handler that nobody would write.
var oddEnds = map[string]func(*dibs.Work) error{
	"panic with a text":            panics("boom"),
	"panic with nil":               panics(nil),
	"panic with a circle":          panics(circle()),
	"panic with an error":          panics(errors.New("boom")),
	"panic whose text panics":      panics(mute{}),
	"panic whose text exits":       panics(exits{}),
	"panic with a release":         panics(&dibs.Release{}),
	"runtime.Goexit":               func(*dibs.Work) error { runtime.Goexit(); return nil },
	"an error whose text panics":   fails(mute{}),
	"an error whose text exits":    fails(exits{}),
	"an error that wraps itself":   fails(&itself{}),
	"an error that is a nil value": fails((*caused)(nil)),
	"a nack that is a nil value":   fails((*dibs.Nack)(nil)),
	"a nack without an error":      fails(&dibs.Nack{}),
	"context.Canceled":             fails(context.Canceled),
	"a result that is a circle":    result(circle()),
	"a result that is a function":  result(func() {}),
	"a result that panics":         result(unwritable{}),
}
