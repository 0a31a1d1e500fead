package dibs

import (
	"sync"
	"time"
)

// mostEvents bounds those that wait while Observe is slow. Later ones are dropped.
const mostEvents = 100_000

// Event is something that a worker does, for traces, metrics and logs.
type Event struct {
	// Type: claimed, started, signalled, ended, failed, settled, lost, refused, retrying, stopping, stopped.
	Type string
	// Job is nil for claimed, retrying, stopping and stopped.
	Job *Work
	// Jobs that were claimed.
	Jobs int
	// Verb of a settlement: ack, nack or release.
	Verb string
	// Reason in one line, and what comes next, of a job that failed: retry, dead or cancelled. RetryIn is nil for its backoff.
	Reason, Next string
	RetryIn      *time.Duration
	// Request that is repeated: claim, settle or extend.
	Request string
	// Took is how long the handler ran.
	Took time.Duration
	Err  error
	// Missed: so many events before this one were dropped, because Observe was too slow.
	Missed int
}

// observe notes what Observe and the log are to be told. They are called beside the work, and may call Stop.
func (w *Worker) observe(event Event) {
	if w.phase == stopped {
		return
	}
	if isTold(event) {
		w.log.note(event)
	}
	if w.observer != nil {
		w.observer.note(event)
	}
}

// teller tells events to a function, one after the other. Its goroutine is there while events wait.
type teller struct {
	hear   func(Event)
	mu     sync.Mutex
	events []Event
	missed int
	// Closed when nothing is left to tell.
	isOver chan struct{}
}

func (t *teller) note(event Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) >= mostEvents {
		t.missed++
		return
	}
	event.Missed, t.missed = t.missed, 0
	t.events = append(t.events, event)
	if t.isOver == nil {
		t.isOver = make(chan struct{})
		go t.tell()
	}
}

// tell goes on until nothing is left. When the function panics or ends the goroutine, the next one goes on.
func (t *teller) tell() {
	defer func() {
		_ = recover()
		t.mu.Lock()
		defer t.mu.Unlock()
		if len(t.events) > 0 {
			go t.tell()
			return
		}
		close(t.isOver)
		t.isOver = nil
	}()
	t.mu.Lock()
	for len(t.events) > 0 {
		event := t.events[0]
		t.events[0] = Event{} // Its job is not kept.
		t.events = t.events[1:]
		t.mu.Unlock()
		t.hear(event)
		t.mu.Lock()
	}
	t.events = nil
	t.mu.Unlock()
}

// await waits until all is told, unless that takes too long.
func (t *teller) await() {
	if t == nil {
		return
	}
	t.mu.Lock()
	isOver := t.isOver
	t.mu.Unlock()
	if isOver == nil {
		return
	}
	select {
	case <-isOver:
	case <-time.After(flush):
	}
}

func (w *Worker) signal(r *run, code error) {
	if r.code == nil {
		w.observe(Event{Type: "signalled", Job: r.work, Err: code})
		r.fire(code)
	}
}
