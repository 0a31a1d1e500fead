package dibs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	maxItems = 1000
	// Dibs takes 16 MiB in a body. Results and follow-ups may be large.
	maxBytes = 8 << 20
	// How long a handler may take to end after its context, when the worker stops.
	last = time.Second
	// How long the worker then tries to send what is left, and how long it tries to take back a claim.
	flush = 5 * time.Second
)

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

type phase int

const (
	fresh phase = iota
	working
	stopping
	stopped
)

// claim is the request that wants jobs. The same id is sent until an answer comes, so that no lease is lost with an answer.
type claim struct {
	id       string
	sent     time.Time
	wait     time.Duration
	repeated bool
	tokens   map[string]bool
	ctx      context.Context
	hangUp   context.CancelFunc
}

// Worker claims jobs, lets the handler work on them, extends their leases, and settles them.
//
//	fresh --Run--> working --Stop, or a refused claim--> stopping --nothing is left, or time is up--> stopped
//
// Three kinds of request go side by side, at most one of each: a claim that waits for jobs, a settlement of all that is done, and an
// attempt to take back a claim when the worker stops. While no claim waits, a settlement carries one that does not wait: then there is
// one request for each job. pump looks at what stands, and sends what is due. It is called after each change.
type Worker struct {
	Client  *Client
	Queues  []string
	Handler Handler
	// Concurrency: how many jobs it works on at once, up to 1000. Default: 10.
	Concurrency int
	// Lease. Default: the queue's. It is extended while the handler runs, so it need not be as long as the work.
	Lease time.Duration
	// Wait: how long a claim waits for jobs, up to 60 s. Default: 20 s.
	Wait time.Duration
	// Name is shown to people who look at a job.
	Name string
	// StopAfter: how long Stop lets handlers go on. Then their contexts end. A second later their jobs are released. Default: 25 s.
	StopAfter time.Duration
	// Middleware goes around each handler, the first one outermost.
	Middleware []Middleware
	// Observe is told all that the worker does. It must not block.
	Observe func(Event)

	mu              sync.Mutex
	phase           phase
	ctx             context.Context
	cancel          context.CancelFunc
	ended           chan struct{}
	runs            map[*run]bool
	outbox          []*settlement
	claim           *claim
	claiming        bool
	settling        bool
	carries         bool
	closing         bool
	claimFailures   int
	claimNotBefore  time.Time
	settleFailures  int
	settleNotBefore time.Time
	closeUntil      time.Time
	timer           *time.Timer
	beatTimer       *time.Timer
	stopTimers      []*time.Timer
	err             error
}

// Run works until Stop, or until ctx is done: then it stops as Stop does. It returns an *Error when Dibs refuses a claim for good: a
// name that is wrong, a key that may not.
func (w *Worker) Run(ctx context.Context) error {
	w.mu.Lock()
	if w.phase == stopped && w.ended == nil {
		w.mu.Unlock()
		return nil // It was stopped before it ran: a goroutine may begin late.
	}
	if w.phase != fresh {
		w.mu.Unlock()
		return errors.New("dibs: a worker runs once")
	}
	if w.Concurrency == 0 {
		w.Concurrency = 10
	}
	if w.Concurrency < 1 || w.Concurrency > 1000 {
		w.mu.Unlock()
		return errors.New("dibs: Concurrency must be from 1 to 1000")
	}
	for i := len(w.Middleware) - 1; i >= 0; i-- {
		w.Handler = w.Middleware[i](w.Handler)
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.ended = make(chan struct{})
	w.runs = map[*run]bool{}
	w.phase = working
	w.pump()
	w.mu.Unlock()
	select {
	case <-ctx.Done():
		w.Stop()
	case <-w.ended:
	}
	<-w.ended
	return w.err
}

// Stop takes no more jobs, lets the handlers end, and returns when they have.
func (w *Worker) Stop() { w.StopWithin(orDefault(w.StopAfter, 25*time.Second)) }

func orDefault(given, fallback time.Duration) time.Duration {
	if given == 0 {
		return fallback
	}
	return given
}

// StopWithin is Stop with another deadline. A second call may make it earlier.
func (w *Worker) StopWithin(deadline time.Duration) {
	w.mu.Lock()
	if w.phase == fresh || w.phase == stopped {
		w.phase = stopped
		w.mu.Unlock()
		return
	}
	w.beginStop(deadline)
	w.mu.Unlock()
	<-w.ended
}

func (w *Worker) beginStop(deadline time.Duration) {
	if w.phase == working {
		w.phase = stopping
		w.closeUntil = time.Now().Add(flush)
		w.observe(Event{Type: "stopping"})
	}
	w.after(deadline, func() {
		for r := range w.runs {
			if r.state == running {
				w.signal(r, ErrStopping)
			}
		}
	})
	w.after(deadline+last, func() {
		for r := range w.runs {
			if r.state == running {
				w.settle(r, releaseOf(r, 0))
			}
		}
	})
	w.after(deadline+last+flush, w.finish)
	w.pump()
}

func (w *Worker) after(pause time.Duration, act func()) {
	w.stopTimers = append(w.stopTimers, time.AfterFunc(pause, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		act()
	}))
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

func (w *Worker) free() int {
	free := w.Concurrency
	for r := range w.runs {
		if r.state == running {
			free--
		}
	}
	return free
}

func (w *Worker) mayClaim() bool { return w.phase == working && !w.claiming && w.free() > 0 }

// pump sends what is due. What is not due yet sets a timer. The caller holds the lock.
func (w *Worker) pump() {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.phase == fresh || w.phase == stopped {
		return
	}
	now := time.Now()
	wake := time.Time{}
	at := func(when time.Time) {
		if wake.IsZero() || when.Before(wake) {
			wake = when
		}
	}
	if len(w.outbox) > 0 && !w.settling {
		first := w.outbox[0].notBefore
		for _, one := range w.outbox {
			if one.notBefore.Before(first) {
				first = one.notBefore
			}
		}
		if first.Before(w.settleNotBefore) {
			first = w.settleNotBefore
		}
		if first.After(now) {
			at(first)
		} else {
			w.sendSettlements(w.mayClaim() && !w.claimNotBefore.After(now))
		}
	}
	isClosable := w.phase == stopping && w.claim != nil && !w.closing && !w.carries
	if isClosable {
		if now.After(w.closeUntil) {
			w.claim.hangUp()
			w.claim = nil
		} else {
			at(w.closeUntil.Add(time.Millisecond))
		}
	}
	if w.mayClaim() || (isClosable && w.claim != nil) {
		if w.claimNotBefore.After(now) {
			at(w.claimNotBefore)
		} else if isClosable {
			w.closeClaim()
		} else {
			w.sendClaim()
		}
	}
	if !wake.IsZero() {
		w.timer = time.AfterFunc(time.Until(wake), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.pump()
		})
	}
	isIdle := !w.claiming && !w.settling && !w.closing
	if w.phase == stopping && isIdle && w.claim == nil && len(w.runs) == 0 {
		w.finish()
	}
}

func (w *Worker) finish() {
	if w.phase == stopped {
		return
	}
	w.phase = stopped
	for _, timer := range append(w.stopTimers, w.timer, w.beatTimer) {
		if timer != nil {
			timer.Stop()
		}
	}
	w.cancel()
	w.observe(Event{Type: "stopped", Err: w.err})
	close(w.ended)
}

// ---- Claiming

// nextClaim is the body of the claim. An unanswered one goes again, with its id.
func (w *Worker) nextClaim(wait time.Duration) (*claim, ClaimRequest) {
	if w.claim == nil {
		ctx, hangUp := context.WithCancel(w.ctx)
		w.claim = &claim{id: newID(), tokens: map[string]bool{}, ctx: ctx, hangUp: hangUp}
	}
	w.claim.sent = time.Now()
	w.claim.wait = wait
	request := ClaimRequest{
		Queues:        w.Queues,
		Limit:         Ptr(int64(max(1, w.free()))),
		WaitSeconds:   Ptr(wait.Seconds()),
		ClaimID:       &w.claim.id,
		PayloadFormat: Ptr("text"),
	}
	if w.Lease > 0 {
		request.LeaseSeconds = Ptr(w.Lease.Seconds())
	}
	if w.Name != "" {
		request.Worker = &w.Name
	}
	return w.claim, request
}

func (w *Worker) sendClaim() {
	w.claiming = true
	open, request := w.nextClaim(orDefault(w.Wait, 20*time.Second))
	go func() {
		answer, err := w.Client.ClaimJobs(open.ctx, request)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.claiming = false
		if err == nil {
			w.claimed(open, answer.Jobs)
		} else if w.claim == open {
			// If not, it was closed meanwhile.
			w.claimFailed(err)
		}
		w.pump()
	}()
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
		answer, err := w.Client.ClaimJobs(ctx, request)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.closing = false
		if err == nil {
			w.claimed(open, answer.Jobs)
			open.hangUp()
		} else {
			w.claimFailed(err)
		}
		w.pump()
	}()
}

func (w *Worker) claimed(from *claim, jobs []LeasedJob) {
	if w.claim == from {
		w.claim = nil
	}
	w.claimFailures = 0
	late := time.Since(from.sent) - from.wait
	for _, job := range jobs {
		if from.tokens[job.LeaseToken] {
			continue
		}
		from.tokens[job.LeaseToken] = true
		r := newRun(job, from.repeated || late > seconds(job.LeaseSeconds)/3)
		var before []*run
		for other := range w.runs {
			if other.work.ID == job.ID {
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

func (w *Worker) claimFailed(err error) {
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
		w.beginStop(orDefault(w.StopAfter, 25*time.Second))
		return
	}
	w.claimNotBefore = time.Now().Add(backoff(w.claimFailures, err))
	w.claimFailures++
	w.observe(Event{Type: "retrying", Request: "claim", Err: err})
}

// ---- Working

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

// ---- Settling

func (w *Worker) settle(r *run, said *settlement) {
	r.state = settling
	w.outbox = append(w.outbox, said)
	w.pump()
}

// take is the next batch.
func (w *Worker) take() (batch []*settlement) {
	var left []*settlement
	size := 0
	now := time.Now()
	for _, one := range w.outbox {
		isFull := len(batch) >= maxItems ||
			(len(batch) > 0 && (size+one.size > maxBytes || one.alone || batch[0].alone))
		if one.notBefore.After(now) || isFull {
			left = append(left, one)
			continue
		}
		batch = append(batch, one)
		size += one.size
	}
	w.outbox = left
	return batch
}

func (w *Worker) sendSettlements(withClaim bool) {
	w.settling = true
	batch := w.take()
	request := SettleRequest{}
	lists := map[verb][]*settlement{}
	for _, one := range batch {
		lists[one.verb] = append(lists[one.verb], one)
		switch one.verb {
		case verbAck:
			request.Acks = append(request.Acks, one.ack)
		case verbNack:
			request.Nacks = append(request.Nacks, one.nack)
		default:
			request.Releases = append(request.Releases, one.release)
		}
	}
	var open *claim
	if withClaim {
		w.claiming, w.carries = true, true
		var body ClaimRequest
		open, body = w.nextClaim(0)
		request.Claim = &body
	}
	go func() {
		answer, err := w.Client.SettleJobs(w.ctx, request)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.settling = false
		if withClaim {
			w.claiming, w.carries = false, false
		}
		if err != nil {
			w.batchFailed(batch, err)
			if open != nil {
				open.repeated = true
				// What was refused were settlements. The claim goes by itself.
				if !IsTemporary(err) && w.claim == open {
					w.claim = nil
				}
			}
		} else {
			w.settleFailures = 0
			w.answeredAll(lists[verbAck], answer.Acks)
			w.answeredAll(lists[verbNack], answer.Nacks)
			w.answeredAll(lists[verbRelease], answer.Releases)
			if open != nil && answer.Problem != nil {
				w.claimFailed(&Error{Code: answer.Problem.Code, Status: int(answer.Problem.Status), Problem: *answer.Problem})
			} else if open != nil {
				w.claimed(open, answer.Jobs)
			}
		}
		w.pump()
	}()
}

func (w *Worker) answeredAll(sent []*settlement, results []SettleResult) {
	for i, one := range sent {
		result := SettleResult{Status: 500}
		if i < len(results) {
			result = results[i]
		}
		w.answered(one, result)
	}
}

func (w *Worker) answered(one *settlement, result SettleResult) {
	isGone := result.Status == 404 || result.Status == 409
	switch {
	case result.Status < 300 || (isGone && one.repeated):
		w.done(one.run)
		w.observe(Event{Type: "settled", Job: one.run.work, Verb: string(one.verb)})
	case isGone:
		w.done(one.run)
		w.observe(Event{Type: "lost", Job: one.run.work, Verb: string(one.verb)})
	default:
		problem := Problem{Code: "internal", Status: result.Status}
		if result.Problem != nil {
			problem = *result.Problem
		}
		err := &Error{Code: problem.Code, Status: int(result.Status), Problem: problem}
		if !IsTemporary(err) {
			w.refused(one, err)
			return
		}
		one.notBefore = time.Now().Add(backoff(one.failures, err))
		one.failures++
		w.outbox = append(w.outbox, one)
		w.observe(Event{Type: "retrying", Request: "settle", Err: err})
	}
}

func (w *Worker) batchFailed(batch []*settlement, err error) {
	var refusal *Error
	isBug := errors.As(err, &refusal) && refusal.Status == 500
	isTemporary := IsTemporary(err)
	for _, one := range batch {
		one.repeated = one.repeated || mayBeDone(err)
		// One of them may be what Dibs refuses, or fails at.
		one.alone = one.alone || isBug || !isTemporary
	}
	switch {
	case isTemporary:
		w.settleNotBefore = time.Now().Add(backoff(w.settleFailures, err))
		w.settleFailures++
		w.outbox = append(w.outbox, batch...)
		w.observe(Event{Type: "retrying", Request: "settle", Err: err})
	case len(batch) > 1:
		w.outbox = append(w.outbox, batch...)
	default:
		for _, one := range batch {
			w.refused(one, err)
		}
	}
}

// refused: Dibs never takes this ack. Its result is too large, or a follow-up is wrong. To do the work again would not help.
func (w *Worker) refused(one *settlement, err error) {
	w.observe(Event{Type: "refused", Job: one.run.work, Verb: string(one.verb), Err: err})
	var refusal *Error
	isForbidden := errors.As(err, &refusal) && (refusal.Status == 401 || refusal.Status == 403)
	if one.verb == verbAck && !isForbidden {
		w.settle(one.run, nackOf(one.run, Dead(fmt.Errorf("the ack was refused: %w", err))))
		return
	}
	w.done(one.run)
}
