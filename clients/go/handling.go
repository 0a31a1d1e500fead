package dibs

import (
	"context"
	"fmt"
	"time"
)

// work waits for the old handler of a job that came back: its lease is lost, and it may still run here.
func (w *Worker) work(r *run, before []*run) {
	<-r.confirmed
	for _, other := range before {
		<-other.ended
	}
	r.work.report = func(value any) error { return w.reportProgress(r, value) }
	w.mu.Lock()
	err := r.code
	if err == nil {
		w.observe(Event{Type: "started", Job: r.work})
		w.mu.Unlock()
		began := time.Now()
		err = handle(r.ctx, w.Handler, r.work)
		w.mu.Lock()
		w.observe(Event{Type: "ended", Job: r.work, Took: time.Since(began), Err: err})
	}
	defer w.mu.Unlock()
	close(r.ended)
	// If not, it was released meanwhile, because the worker's time was over.
	if r.state != running {
		return
	}
	if said := outcome(r, err); said != nil {
		w.settle(r, said)
		return
	}
	w.done(r)
	w.observe(Event{Type: "lost", Job: r.work})
	w.pump()
}

// handle makes an error of a panic.
func handle(ctx context.Context, handler Handler, work *Work) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return handler(ctx, work)
}

func (w *Worker) reportProgress(r *run, value any) error {
	heard := make(chan error, 1)
	w.mu.Lock()
	if r.state != running {
		w.mu.Unlock()
		return nil
	}
	next := &report{value: value, heard: []chan error{heard}}
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
