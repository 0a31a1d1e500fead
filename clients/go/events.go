package dibs

import "time"

// mostEvents bounds those that wait while Observe is slow. Later ones are dropped.
const mostEvents = 100_000

// Event is something that a worker does, for traces, metrics and logs.
type Event struct {
	// Type: claimed, started, signalled, ended, settled, lost, refused, retrying, stopping, stopped.
	Type string
	// Job is nil for claimed, retrying, stopping and stopped.
	Job *Work
	// Jobs that were claimed.
	Jobs int
	// Verb of a settlement: ack, nack or release.
	Verb string
	// Request that is repeated: claim, settle or extend.
	Request string
	// Took is how long the handler ran.
	Took time.Duration
	Err  error
	// Missed: so many events before this one were dropped, because Observe was too slow.
	Missed int
}

// observe notes what Observe is to be told. The caller holds the lock; Observe is called without it, and may call Stop.
func (w *Worker) observe(event Event) {
	if w.Observe == nil || w.phase == stopped {
		return
	}
	if len(w.events) >= mostEvents {
		w.missed++
		return
	}
	event.Missed, w.missed = w.missed, 0
	w.events = append(w.events, event)
	if w.teller == nil {
		w.teller = make(chan struct{})
		go w.tell(w.teller)
	}
}

// tell tells Observe one event after the other, until none is left. When Observe panics or ends the goroutine, the next one goes on.
func (w *Worker) tell(isOver chan struct{}) {
	defer func() {
		_ = recover()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.events) > 0 {
			go w.tell(isOver)
			return
		}
		w.teller = nil
		close(isOver)
	}()
	w.mu.Lock()
	for len(w.events) > 0 {
		event := w.events[0]
		w.events = w.events[1:]
		w.mu.Unlock()
		w.Observe(event)
		w.mu.Lock()
	}
	w.mu.Unlock()
}

func (w *Worker) signal(r *run, code error) {
	if r.code == nil {
		w.observe(Event{Type: "signalled", Job: r.work, Err: code})
		r.fire(code)
	}
}
