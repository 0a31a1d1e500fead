package dibs

import (
	"reflect"
	"runtime"
	"slices"
	"time"
)

const (
	// How long a handler may take to end after its context, when the worker stops, and so may a transport or a KeyFunc, at any time.
	last = time.Second
	// How long the worker then tries to send what is left, and how long it tries to take back a claim.
	flush = 5 * time.Second
)

// Stop takes no more jobs, lets the handlers end, and returns when they have. It may be called at any time, and more than once. From
// a handler or from Observe, of this worker or of another, it returns at once: the handler that calls it must end, too. A goroutine that
// a handler waits for is not known as such: call it there with go.
func (w *Worker) Stop() { w.StopWithin(w.stopAfter()) }

func (w *Worker) stopAfter() time.Duration { return orDefault(w.StopAfter, 25*time.Second) }

// StopWithin is Stop with another deadline. A second call may make it earlier.
func (w *Worker) StopWithin(deadline time.Duration) {
	w.mu.Lock()
	if w.phase == fresh {
		w.phase = stopped
	}
	if w.phase == working || w.phase == stopping {
		w.beginStop(bounded(deadline))
	}
	hasRun := w.ended != nil
	w.mu.Unlock()
	if hasRun && !isWithin() {
		w.awaitEnd()
	}
}

// isWithin tells whether a handler calls, or Observe, of this worker or of another. If it waited for the end of all handlers, it could
// wait for itself. That is seen on the stack, so it costs nothing before.
func isWithin() bool {
	callers := make([]uintptr, 1000)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	within := []string{nameOf((*Worker).attempt), nameOf((*teller).tell)}
	for {
		frame, hasMore := frames.Next()
		if slices.Contains(within, frame.Function) {
			return true
		}
		if !hasMore {
			return false
		}
	}
}

// nameOf is a function with its package, as it stands on the stack.
func nameOf(function any) string {
	return runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
}

// awaitEnd waits until the session is hung up, and the log and Observe were told all, too.
func (w *Worker) awaitEnd() {
	<-w.ended
	w.keeper.await()
	w.log.await()
	w.observer.await()
}

func (w *Worker) beginStop(deadline time.Duration) {
	if w.phase == working {
		w.phase = stopping
		w.closeUntil = time.Now().Add(flush)
		w.observe(Event{Type: "stopping"})
	}
	by := time.Now().Add(deadline)
	if w.stopBy.IsZero() || by.Before(w.stopBy) {
		w.stopBy = by
		w.setStopTimers(deadline)
	}
	w.pump()
}

func (w *Worker) setStopTimers(deadline time.Duration) {
	for _, timer := range w.stopTimers {
		timer.Stop()
	}
	w.stopTimers = nil
	w.after(deadline, func() {
		for r := range w.runs {
			if r.state == running {
				w.signal(r, ErrStopping)
			}
		}
	})
	w.after(deadline+last, func() {
		for r := range w.runs {
			if r.state == running {
				w.settle(r, releaseOf(r, 0))
			}
		}
	})
	w.after(deadline+last+flush, w.finish)
}

func (w *Worker) after(pause time.Duration, act func()) {
	w.stopTimers = append(w.stopTimers, time.AfterFunc(pause, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		act()
	}))
}

func (w *Worker) finish() {
	if w.phase == stopped {
		return
	}
	w.observe(Event{Type: "stopped", Err: w.err})
	w.phase = stopped
	for _, timer := range append(w.stopTimers, w.timer, w.beatTimer) {
		if timer != nil {
			timer.Stop()
		}
	}
	w.cancel()
	close(w.ended)
}
