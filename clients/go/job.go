package dibs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Why a handler's context ended: context.Cause(ctx).
var (
	// ErrLeaseLost: Dibs says that the lease is over. Another worker may have the job.
	ErrLeaseLost = errors.New("lease_lost")
	// ErrLeaseExpired: no extend was answered in time. Another worker may have the job.
	ErrLeaseExpired = errors.New("lease_expired")
	// ErrCancelRequested: somebody wants the job stopped.
	ErrCancelRequested = errors.New("cancel_requested")
	// ErrStopping: the worker's time to stop is over.
	ErrStopping = errors.New("stopping")
)

// Work is a job as its handler sees it.
type Work struct {
	LeasedJob
	// Text is the JSON text of the payload, exactly as it was sent.
	Text string
	// What Dibs gave, for the log: the handler may write into its fields at any time.
	given     LeasedJob
	report    func(json.RawMessage) error
	mu        sync.Mutex
	result    any
	followUps []JobSpec
	last      any
}

// Decode reads the payload. Return its error: the job is then nacked.
func (w *Work) Decode(into any) error {
	if err := json.Unmarshal([]byte(w.Text), into); err != nil {
		return &undecodable{err}
	}
	return nil
}

type undecodable struct{ err error }

func (u *undecodable) Error() string { return "the payload cannot be decoded: " + ownText(u.err) }
func (u *undecodable) Unwrap() error { return u.err }

// SetResult sets what the ack says.
func (w *Work) SetResult(result any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result = result
}

// FollowUp adds a job that is enqueued if and only if the ack counts.
func (w *Work) FollowUp(job JobSpec) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followUps = append(w.followUps, copied(job))
}

// copied shares no bytes and no map with the program, which may use them again.
func copied(job JobSpec) JobSpec {
	job.Payload, job.Headers = slices.Clone(job.Payload), maps.Clone(job.Headers)
	return job
}

// Report tells people who look at the job how far it is. It returns when Dibs has it.
func (w *Work) Report(progress any) error {
	text, err := json.Marshal(progress)
	if err != nil {
		return fmt.Errorf("the progress cannot be written as JSON: %w", err)
	}
	w.mu.Lock()
	w.last = progress
	w.mu.Unlock()
	if w.report == nil {
		return nil // A job that a test made up.
	}
	return w.report(text)
}

// Result is what SetResult set.
func (w *Work) Result() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.result
}

// FollowUps are those that FollowUp added.
func (w *Work) FollowUps() []JobSpec {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.followUps)
}

// LastReport is the progress that this handler reported last.
func (w *Work) LastReport() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Handler works on a job. When ctx ends, it should return: context.Cause(ctx) says why.
type Handler func(ctx context.Context, job *Work) error

// Middleware goes around a handler.
type Middleware func(Handler) Handler

// Nack is an error that says how the job failed.
type Nack struct {
	Err error
	// Dead: it is not tried again.
	Dead bool
	// Delay until the next attempt. Default: what the job's backoff says.
	Delay *time.Duration
	// FollowUps make up for this job: enqueued if and only if it becomes dead.
	FollowUps []JobSpec
}

func (n *Nack) Error() string {
	if n.Err == nil {
		return "the handler failed, and did not say why"
	}
	return n.Err.Error()
}
func (n *Nack) Unwrap() error { return n.Err }

// Dead makes a job dead at once.
func Dead(err error) error { return &Nack{Err: err, Dead: true} }

// RetryIn tries a job again after this delay.
func RetryIn(delay time.Duration, err error) error { return &Nack{Err: err, Delay: &delay} }

// Release gives a job back unworked. Its attempt is not charged.
type Release struct{ Delay time.Duration }

func (r *Release) Error() string { return "released" }
