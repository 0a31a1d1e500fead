package dibs

import (
	"context"
	"errors"
	"slices"
	"time"
)

// claim is the request that wants jobs. The same id is sent until an answer comes, so that no lease is lost with an answer.
// With another session, it would be another claim.
type claim struct {
	id       string
	session  string
	sent     time.Time
	wait     time.Duration
	repeated bool
	tokens   map[string]bool
	ctx      context.Context
	hangUp   context.CancelFunc
}

// nextClaim is the body of the claim. An unanswered one goes again, with its id.
func (w *Worker) nextClaim(wait time.Duration) (*claim, ClaimRequest) {
	if w.claim == nil {
		ctx, hangUp := context.WithCancel(w.ctx)
		w.claim = &claim{id: newID(), session: w.keeper.current(), tokens: map[string]bool{}, ctx: ctx, hangUp: hangUp}
	}
	w.claim.sent = time.Now()
	w.claim.wait = wait
	request := ClaimRequest{
		Queues:        w.queues,
		Limit:         Ptr(int64(max(1, w.free()))),
		WaitSeconds:   Ptr(wait.Seconds()),
		ClaimID:       &w.claim.id,
		PayloadFormat: Ptr("text"),
	}
	if w.Lease > 0 {
		request.LeaseSeconds = Ptr(w.Lease.Seconds())
	}
	if w.name != "" {
		request.Worker = &w.name
	}
	if w.claim.session != "" {
		request.Session = &w.claim.session
	}
	return w.claim, request
}

func (w *Worker) sendClaim() {
	w.claiming = true
	open, request := w.nextClaim(orDefault(w.Wait, 20*time.Second))
	go func() {
		jobs, err := w.askForJobs(open.ctx, request)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.claiming = false
		if err == nil {
			w.claimed(open, jobs)
		} else if w.claim == open {
			// If not, it was closed meanwhile.
			w.claimFailed(open, err)
		}
		w.pump()
	}()
}

// askForJobs: an answer without leases is none of Dibs. If it counted, the worker would claim in a hurry.
func (w *Worker) askForJobs(ctx context.Context, request ClaimRequest) ([]LeasedJob, error) {
	answer, err := w.Client.ClaimJobs(ctx, request)
	if err != nil {
		return nil, err
	}
	if !areLeases(answer.Jobs) {
		return nil, &ConnectionError{errors.New("the answer of a claim is not of Dibs: it has no leases")}
	}
	return answer.Jobs, nil
}

// areLeases: a list may be empty, and must be there.
func areLeases(jobs []LeasedJob) bool {
	return jobs != nil && !slices.ContainsFunc(jobs, func(job LeasedJob) bool { return job.ID == "" || job.LeaseToken == "" })
}

// closeClaim repeats a claim that waits, or whose answer was lost, by one that does not wait. It takes the place of the first, and
// gets what the first got. So when the worker stops, no job is left behind with a lease.
func (w *Worker) closeClaim() {
	w.closing = true
	open, request := w.nextClaim(0)
	request.Limit = Ptr(int64(1))
	go func() {
		ctx, cancel := context.WithTimeout(w.ctx, flush)
		defer cancel()
		jobs, err := w.askForJobs(ctx, request)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.closing = false
		if err == nil {
			w.claimed(open, jobs)
		} else {
			w.claimFailed(open, err)
		}
		w.pump()
	}()
}

// claimed: the claim is over. A request of it that still waits is hung up: it would be answered the same leases.
func (w *Worker) claimed(from *claim, jobs []LeasedJob) {
	from.hangUp()
	if w.claim == from {
		w.claim = nil
	}
	took := time.Since(from.sent)
	// Something before Dibs may answer at once that there are no jobs, again and again.
	if len(jobs) == 0 && from.wait >= time.Second && took < time.Second/2 {
		w.pauseClaims(nil)
	} else {
		w.claimFailures = 0
	}
	for _, job := range jobs {
		if from.tokens[job.LeaseToken] {
			continue
		}
		from.tokens[job.LeaseToken] = true
		isLate := took-from.wait > seconds(job.LeaseSeconds)/3
		r := newRun(w.ctx, job, from.repeated || isLate || w.keeper.hasLeft(from.session))
		r.session = from.session
		var before []*run
		for other := range w.runs {
			if other.id == job.ID {
				before = append(before, other)
			}
		}
		w.runs[r] = true
		if w.phase == working {
			go w.work(r, before)
		} else {
			close(r.ended)
			w.settle(r, releaseOf(r, 0))
		}
	}
	w.observe(Event{Type: "claimed", Jobs: len(jobs)})
	w.scheduleBeat()
}

// claimFailed: when only its session is gone, a new claim goes at once, without it.
func (w *Worker) claimFailed(from *claim, err error) {
	if from.session != "" && isSessionGone(err) {
		w.sessionEnded(from.session)
		from.hangUp()
		if w.claim == from {
			w.claim = nil
		}
		return
	}
	if w.claim != nil {
		w.claim.repeated = true
	}
	if !IsTemporary(err) {
		if w.claim != nil {
			w.claim.hangUp()
			w.claim = nil
		}
		if w.err == nil {
			w.err = err
		}
		w.beginStop(w.stopAfter())
		return
	}
	w.pauseClaims(err)
	w.observe(Event{Type: "retrying", Request: "claim", Err: err})
}

func (w *Worker) pauseClaims(err error) {
	w.claimNotBefore = time.Now().Add(backoff(w.claimFailures, err))
	w.claimFailures++
}
