package dibs

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

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
	// Why the job failed, of a nack: the error, and one line of it.
	err    error
	reason string
	// It was sent before, and no answer came: it may count already.
	repeated bool
	// It goes by itself, because something in a batch was refused.
	alone bool
	// A nack without extras. When that is refused, too, nothing more can be said.
	isPlain   bool
	failures  int
	notBefore time.Time
}

func ackOf(r *run) *settlement {
	item := AckItem{ID: r.id, LeaseToken: r.token, Enqueue: r.work.FollowUps()}
	if result := r.work.Result(); result != nil {
		err := guarded(func() (err error) {
			item.Result, err = json.Marshal(result)
			return err
		})
		if err != nil {
			return nackOf(r, Dead(fmt.Errorf("the result cannot be written as JSON: %w", err)))
		}
	}
	return &settlement{run: r, verb: verbAck, ack: item, size: len(item.Result) + sizeOf(item.Enqueue)}
}

func nackOf(r *run, err error) *settlement {
	text := textOf(err)
	item := NackItem{ID: r.id, LeaseToken: r.token, Error: &text}
	if nack, isNack := own[*Nack](err); isNack {
		if nack.Dead {
			item.Retry = Ptr(false)
		}
		if nack.Delay != nil {
			item.DelaySeconds = Ptr(nack.Delay.Seconds())
		}
		for _, followUp := range nack.FollowUps {
			item.Enqueue = append(item.Enqueue, copied(followUp))
		}
	}
	return &settlement{run: r, verb: verbNack, nack: item, size: len(text) + sizeOf(item.Enqueue), err: err, reason: reasonOf(err)}
}

// reasonOf is one line for the log. What a decoder says may show the payload.
func reasonOf(err error) string {
	if _, isUndecodable := find[*undecodable](err); isUndecodable {
		return "its payload cannot be decoded: see last_error"
	}
	return oneLine(withCauses(err))
}

// failed is the event of a nack: what it means for its job.
func (s *settlement) failed() Event {
	event := Event{Type: "failed", Job: s.run.work, Err: s.err, Reason: s.reason, Next: "retry"}
	if s.nack.DelaySeconds != nil {
		event.RetryIn = Ptr(seconds(*s.nack.DelaySeconds))
	}
	isForGood := s.nack.Retry != nil && !*s.nack.Retry
	switch {
	case s.run.code == ErrCancelRequested:
		event.Next = "cancelled"
	case isForGood || s.run.isLastAttempt:
		event.Next = "dead"
	}
	return event
}

func releaseOf(r *run, delay time.Duration) *settlement {
	item := ReleaseItem{ID: r.id, LeaseToken: r.token}
	if delay != 0 {
		item.DelaySeconds = Ptr(delay.Seconds())
	}
	return &settlement{run: r, verb: verbRelease, release: item, size: sizeOf(nil)}
}

// sizeOf is about how much an item with these follow-ups adds to a body.
func sizeOf(followUps []JobSpec) int {
	size := 200
	for _, followUp := range followUps {
		size += len(followUp.Payload) + 500
	}
	return size
}

// errGone is what becomes of a handler that nothing can recover, such as t.FailNow() of a test.
var errGone = errors.New("the handler ended its goroutine (runtime.Goexit), and returned nothing")

// outcome is what the end of a handler says of its job; nil for nothing. What it fails with after its context ended is no failure
// of the job, unless it says so itself.
func outcome(r *run, err, code error) *settlement {
	release, isRelease := own[*Release](err)
	_, isNack := own[*Nack](err)
	switch {
	case err == nil:
		return ackOf(r)
	case code == ErrLeaseLost:
		return nil
	case isRelease:
		return releaseOf(r, release.Delay)
	case code == nil || code == ErrCancelRequested || isNack:
		return nackOf(r, err)
	default:
		return releaseOf(r, 0)
	}
}

// own finds what the handler itself says of the job. A panic says nothing: it is a failure.
func own[T interface {
	error
	comparable
}](err error) (said T, isSaid bool) {
	if _, isPanic := err.(*Panic); isPanic {
		return said, false
	}
	return find[T](err)
}
