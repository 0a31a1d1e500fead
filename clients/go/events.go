package dibs

import "time"

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
}

func (w *Worker) observe(event Event) {
	if w.Observe != nil {
		w.Observe(event)
	}
}

func (w *Worker) signal(r *run, code error) {
	if r.code == nil {
		w.observe(Event{Type: "signalled", Job: r.work, Err: code})
		r.fire(code)
	}
}
