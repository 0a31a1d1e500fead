package dibs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	Text      string
	result    any
	followUps []JobSpec
	last      any
	report    func(any) error
}

// Decode reads the payload. Return its error: the job is then nacked.
func (w *Work) Decode(into any) error {
	if err := json.Unmarshal([]byte(w.Text), into); err != nil {
		return fmt.Errorf("the payload cannot be decoded: %w", err)
	}
	return nil
}

// SetResult sets what the ack says.
func (w *Work) SetResult(result any) { w.result = result }

// FollowUp adds a job that is enqueued if and only if the ack counts.
func (w *Work) FollowUp(job JobSpec) { w.followUps = append(w.followUps, job) }

// Report tells people who look at the job how far it is. It returns when Dibs has it.
func (w *Work) Report(progress any) error {
	w.last = progress
	if w.report == nil {
		return nil // A job that a test made up.
	}
	return w.report(progress)
}

// Result is what SetResult set.
func (w *Work) Result() any { return w.result }

// FollowUps are those that FollowUp added.
func (w *Work) FollowUps() []JobSpec { return w.followUps }

// LastReport is the progress that this handler reported last.
func (w *Work) LastReport() any { return w.last }

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

func (n *Nack) Error() string { return n.Err.Error() }
func (n *Nack) Unwrap() error { return n.Err }

// Dead makes a job dead at once.
func Dead(err error) error { return &Nack{Err: err, Dead: true} }

// RetryIn tries a job again after this delay.
func RetryIn(delay time.Duration, err error) error { return &Nack{Err: err, Delay: &delay} }

// Release gives a job back unworked. Its attempt is not charged.
type Release struct{ Delay time.Duration }

func (r *Release) Error() string { return "released" }

type verb string

const (
	verbAck     verb = "ack"
	verbNack    verb = "nack"
	verbRelease verb = "release"
)

// settlement is what a worker has to say of a job that it has done.
type settlement struct {
	run     *run
	verb    verb
	ack     AckItem
	nack    NackItem
	release ReleaseItem
	size    int
	// It was sent before, and no answer came: it may count already.
	repeated bool
	// It goes by itself, because something in a batch was refused.
	alone     bool
	failures  int
	notBefore time.Time
}

func ackOf(r *run) *settlement {
	item := AckItem{ID: r.work.ID, LeaseToken: r.work.LeaseToken, Enqueue: r.work.followUps}
	if r.work.result != nil {
		text, err := json.Marshal(r.work.result)
		if err != nil {
			return nackOf(r, Dead(fmt.Errorf("the result cannot be written as JSON: %w", err)))
		}
		item.Result = text
	}
	size := len(item.Result) + 200
	for _, followUp := range item.Enqueue {
		size += len(followUp.Payload) + 500
	}
	return &settlement{run: r, verb: verbAck, ack: item, size: size}
}

func nackOf(r *run, err error) *settlement {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", "\uFFFD"), "\uFFFD")
	item := NackItem{ID: r.work.ID, LeaseToken: r.work.LeaseToken, Error: &text}
	var nack *Nack
	if errors.As(err, &nack) {
		if nack.Dead {
			item.Retry = Ptr(false)
		}
		if nack.Delay != nil {
			item.DelaySeconds = Ptr(nack.Delay.Seconds())
		}
		item.Enqueue = nack.FollowUps
	}
	return &settlement{run: r, verb: verbNack, nack: item, size: len(text) + 200}
}

func releaseOf(r *run, delay time.Duration) *settlement {
	item := ReleaseItem{ID: r.work.ID, LeaseToken: r.work.LeaseToken}
	if delay > 0 {
		item.DelaySeconds = Ptr(delay.Seconds())
	}
	return &settlement{run: r, verb: verbRelease, release: item, size: 200}
}

// outcome is what the end of a handler says of its job; nil for nothing. What it fails with after its context ended is no failure
// of the job, unless it says so itself.
func outcome(r *run, err error) *settlement {
	var release *Release
	var nack *Nack
	switch {
	case err == nil:
		return ackOf(r)
	case r.code == ErrLeaseLost:
		return nil
	case errors.As(err, &release):
		return releaseOf(r, release.Delay)
	case r.code == nil || r.code == ErrCancelRequested || errors.As(err, &nack):
		return nackOf(r, err)
	default:
		return releaseOf(r, 0)
	}
}
