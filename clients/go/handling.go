package dibs

import (
	"context"
	"encoding/json"
	"time"
)

// work waits for the old handler of a job that came back: its lease is lost, and it may still run here.
func (w *Worker) work(r *run, before []*run) {
	r.wait(before)
	r.work.report = func(text json.RawMessage) error { return w.reportProgress(r, text) }
	w.mu.Lock()
	code := r.code
	if code == nil {
		w.observe(Event{Type: "started", Job: r.work})
	}
	w.mu.Unlock()
	if code == nil {
		w.attempt(r)
	} else {
		w.handled(r, outcome(r, code, code))
	}
}

// attempt lets the handler work. Whatever that ends with is a result: a panic, and the end of its goroutine, too. All that calls
// code of others is in here, and not under the lock: errors that panic when asked for their text, results that cannot be written.
func (w *Worker) attempt(r *run) {
	began := time.Now()
	err := errGone
	var said *settlement
	isOver := false
	defer func() {
		if !isOver {
			said = nackOf(r, errGone)
		}
		w.mu.Lock()
		w.observe(Event{Type: "ended", Job: r.work, Took: time.Since(began), Err: err})
		w.mu.Unlock()
		w.handled(r, said)
	}()
	err = guarded(func() error { return w.handler(r.ctx, r.work) })
	w.mu.Lock()
	code := r.code
	w.mu.Unlock()
	said = outcome(r, err, code)
	isOver = true
}

// handled: the handler has ended, and says this of its job, or nothing.
func (w *Worker) handled(r *run, said *settlement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(r.ended)
	switch {
	case r.state != running:
		// It was released meanwhile, because the worker's time was over.
	case said != nil:
		w.settle(r, said)
	default:
		w.done(r)
		w.observe(Event{Type: "lost", Job: r.work})
		w.pump()
	}
}

func (w *Worker) reportProgress(r *run, text json.RawMessage) error {
	heard := make(chan error, 1)
	w.mu.Lock()
	if r.state != running {
		w.mu.Unlock()
		return nil
	}
	next := &report{text: text, heard: []chan error{heard}}
	if r.report != nil {
		next.heard = append(next.heard, r.report.heard...)
	}
	r.report = next
	w.scheduleBeat()
	w.mu.Unlock()
	select {
	case err := <-heard:
		return err
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

func (w *Worker) done(r *run) {
	r.state = done
	r.cancel(nil)
	delete(w.runs, r)
}
