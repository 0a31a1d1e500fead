package dibs

import (
	"context"
	"encoding/json"
	"math/rand"
	"time"
)

type runState int

// Where a job of this worker stands:
//
//	running --the handler ends--> settling --Dibs answers--> done
//	   \--the lease is lost, and the handler fails--------------/
//
// Its lease is extended until it is done. What an extend says of the lease counts only while the job is running: later, the
// settlement's own answer decides.
const (
	running runState = iota
	settling
	done
)

// report is progress that is to be sent, as JSON, and who waits for that.
type report struct {
	text  json.RawMessage
	heard []chan error
}

type run struct {
	// What Dibs gave. The handler has a copy of its own, and may write into it.
	id, token    string
	leaseSeconds float64
	// The session that its claim has named, or empty.
	session string
	// When this attempt fails, there is no next one.
	isLastAttempt bool
	work          *Work
	state         runState
	// By the monotonic clock of this process. The server's clock plays no part.
	leaseEnds time.Time
	extendAt  time.Time
	// Its session ended then. An extend that was sent before proves nothing.
	doubtedAt time.Time
	// An extend is on its way, and not overdue.
	extending bool
	turn      int
	failures  int
	lost      bool
	code      error
	report    *report
	ctx       context.Context
	cancel    context.CancelCauseFunc
	// Closed when it is sure that the lease is there, or that it is not.
	confirmed   chan struct{}
	isConfirmed bool
	// Closed when the handler has ended.
	ended chan struct{}
}

// newRun begins with a lease. A doubtful one may be over already: its job is begun only after an extend.
func newRun(ctx context.Context, job LeasedJob, isDoubtful bool) *run {
	r := &run{id: job.ID, token: job.LeaseToken, leaseSeconds: job.LeaseSeconds}
	r.confirmed, r.ended = make(chan struct{}), make(chan struct{})
	r.isLastAttempt = job.Attempt >= job.MaxAttempts
	r.work = &Work{LeasedJob: job, given: job}
	if job.PayloadText != nil {
		r.work.Text = *job.PayloadText
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.leaseEnds = time.Now().Add(r.lease())
	r.extendAt = time.Now()
	if !isDoubtful {
		r.extendAt = r.next(time.Now())
		r.confirm()
	}
	return r
}

func (r *run) lease() time.Duration { return max(shortestLease, seconds(r.leaseSeconds)) }

// next is a third of the lease later, or a little earlier, so that leases do not move in step. A lease that was doubted once is about to
// end: extends in each second tell when it has.
func (r *run) next(from time.Time) time.Time {
	share := time.Duration(float64(r.lease()) * (0.8 + rand.Float64()*0.2) / 3)
	if !r.doubtedAt.IsZero() {
		share = min(share, time.Second)
	}
	return from.Add(share)
}

func (r *run) confirm() {
	if !r.isConfirmed {
		r.isConfirmed = true
		close(r.confirmed)
	}
}

// fire ends the handler's context. The first reason wins.
func (r *run) fire(code error) {
	if r.code == nil {
		r.code = code
		r.cancel(code)
		r.confirm()
	}
}

// extended: an extend that was sent at this moment counted. A late answer takes nothing back of what a later extend got.
func (r *run) extended(sent time.Time) {
	if ends := sent.Add(r.lease()); !ends.Before(r.leaseEnds) {
		r.leaseEnds = ends
		if !sent.Before(r.doubtedAt) {
			r.extendAt = r.next(sent)
		}
	}
	r.failures = 0
	r.confirm()
}

// doubt: the lease may be over. Only an extend can tell.
func (r *run) doubt() {
	r.doubtedAt = time.Now()
	r.extendAt = r.doubtedAt
}

// wait returns when the lease is sure, and earlier handlers of the same job have ended, or when the context ends before that.
func (r *run) wait(before []*run) {
	<-r.confirmed
	for _, other := range before {
		select {
		case <-other.ended:
		case <-r.ctx.Done():
		}
	}
}

func (r *run) beats() bool { return r.state != done && !r.lost && !r.extending }

// isNear tells whether it is due, or soon enough to go with others. The pause after a failure is kept.
func (r *run) isNear(now time.Time) bool {
	if r.failures == 0 {
		now = now.Add(r.lease() / 33)
	}
	return !r.due().After(now)
}

// due: progress goes at once, unless an extend has failed since.
func (r *run) due() time.Time {
	if r.report != nil && r.failures == 0 {
		return time.Time{}
	}
	return r.extendAt
}
