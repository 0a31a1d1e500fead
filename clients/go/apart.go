package dibs

import (
	"context"
	"fmt"
	"time"
)

// apart lets what is not of this library act in a goroutine of its own. It may panic, end that goroutine, or go on after its context:
// then it is waited for a little, and given up.
func apart[T any](ctx context.Context, name string, act func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	came := make(chan result, 1)
	go func() {
		given := result{err: fmt.Errorf("%s ended its goroutine", name)}
		defer func() { came <- given }()
		err := guarded(func() (err error) {
			given.value, err = act()
			return err
		})
		given.err = err
	}()
	select {
	case given := <-came:
		return given.value, given.err
	case <-ctx.Done():
	}
	select {
	case given := <-came:
		return given.value, given.err
	case <-time.After(last):
		var none T
		return none, ctx.Err()
	}
}
