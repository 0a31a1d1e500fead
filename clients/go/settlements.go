package dibs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	maxItems = 1000
	// Dibs takes 16 MiB in a body. Results and follow-ups may be large.
	maxBytes = 8 << 20
)

func (w *Worker) settle(r *run, said *settlement) {
	r.state = settling
	if said.verb == verbNack {
		w.observe(said.failed())
	}
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

// sendSettlements: where a settlement goes alone, a claim does not go with it. So it is known which of them is refused.
func (w *Worker) sendSettlements(mayCarry bool) {
	w.settling = true
	batch := w.take()
	withClaim := mayCarry && !batch[0].alone
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
		if err == nil && !answersAll(request, answer) {
			err = &ConnectionError{errors.New("the answer of a settlement is not of Dibs")}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil {
			w.batchFailed(batch, withClaim, err)
			w.carriedFailed(open, err)
		} else {
			w.settleFailures = 0
			again := w.answeredAll(lists[verbAck], answer.Acks)
			again = append(again, w.answeredAll(lists[verbNack], answer.Nacks)...)
			w.again(append(again, w.answeredAll(lists[verbRelease], answer.Releases)...))
			w.carriedAnswered(open, answer)
		}
		// Only now: what is refused above calls pump, and the claim would go again.
		w.settling = false
		if withClaim {
			w.claiming, w.carries = false, false
		}
		w.pump()
	}()
}

// answersAll tells whether there is an answer to each part of the request.
func answersAll(request SettleRequest, answer *SettleResults) bool {
	hasClaim := request.Claim == nil || answer.Problem != nil || areLeases(answer.Jobs)
	return hasClaim && areAnswers(answer.Acks, len(request.Acks)) && areAnswers(answer.Nacks, len(request.Nacks)) &&
		areAnswers(answer.Releases, len(request.Releases))
}

func areAnswers(results []SettleResult, count int) bool {
	return len(results) == count && !slices.ContainsFunc(results, func(one SettleResult) bool { return one.Status < 200 })
}

// carriedFailed: the claim waits out the pause of the settlement, and then goes by itself: Dibs may always fail at the settlement. If it
// was the claim that was refused, it is refused once more, and ends the worker.
func (w *Worker) carriedFailed(open *claim, err error) {
	if open != nil && maySettleLater(err) {
		open.repeated = true
		w.claimNotBefore = w.settleNotBefore
	}
}

func (w *Worker) carriedAnswered(open *claim, answer *SettleResults) {
	if open == nil {
		return
	}
	if problem := answer.Problem; problem != nil {
		w.claimFailed(open, &Error{Code: problem.Code, Status: int(problem.Status), Problem: *problem})
	} else {
		w.claimed(open, answer.Jobs)
	}
}

// answeredAll returns those that Dibs fails at for a while.
func (w *Worker) answeredAll(sent []*settlement, results []SettleResult) (again []*settlement) {
	for i, one := range sent {
		if !w.isTaken(one, results[i]) {
			again = append(again, one)
		}
	}
	return again
}

// again sends what failed in one request once more. It has one pause, so that it goes together.
func (w *Worker) again(batch []*settlement) {
	failures := 0
	for _, one := range batch {
		failures = max(failures, one.failures)
	}
	notBefore := time.Now().Add(backoff(failures, nil))
	for _, one := range batch {
		one.notBefore = notBefore
		one.failures++
	}
	w.outbox = append(w.outbox, batch...)
}

// isTaken tells whether Dibs has taken it, or never will. Else it fails at it for a while.
func (w *Worker) isTaken(one *settlement, result SettleResult) bool {
	// Another 404 or 409 is about a batch or queue of its follow-ups.
	isOver := result.Problem != nil && isGone(result.Problem.Code)
	switch {
	case result.Status < 300 || (isOver && one.repeated):
		w.done(one.run)
		w.observe(Event{Type: "settled", Job: one.run.work, Verb: string(one.verb)})
	case isOver:
		w.done(one.run)
		w.observe(Event{Type: "lost", Job: one.run.work, Verb: string(one.verb)})
	default:
		problem := Problem{Code: "internal", Status: result.Status}
		if result.Problem != nil {
			problem = *result.Problem
		}
		err := &Error{Code: problem.Code, Status: int(result.Status), Problem: problem}
		if IsTemporary(err) {
			one.repeated = one.repeated || mayBeDone(err)
			w.observe(Event{Type: "retrying", Request: "settle", Err: err})
			return false
		}
		w.refused(one, err)
	}
	return true
}

func (w *Worker) batchFailed(batch []*settlement, withClaim bool, err error) {
	refusal, isRefusal := refusalIn(err)
	isBug := isRefusal && refusal.Status == http.StatusInternalServerError
	passes := maySettleLater(err)
	for _, one := range batch {
		one.repeated = one.repeated || mayBeDone(err)
		// One of them may be what Dibs refuses, or fails at.
		one.alone = one.alone || isBug || !passes
	}
	switch {
	case passes:
		w.settleNotBefore = time.Now().Add(backoff(w.settleFailures, err))
		w.settleFailures++
		w.outbox = append(w.outbox, batch...)
		w.observe(Event{Type: "retrying", Request: "settle", Err: err})
	case withClaim || len(batch) > 1:
		w.outbox = append(w.outbox, batch...)
	default:
		w.refused(batch[0], err)
	}
}

// refused: Dibs never takes this. A result is too large, or a follow-up or a delay is wrong. To do the work again would not help, so an
// ack becomes a nack for good. A nack or a release becomes a nack without what may be wrong with it.
func (w *Worker) refused(one *settlement, err error) {
	w.observe(Event{Type: "refused", Job: one.run.work, Verb: string(one.verb), Err: err})
	refusal, isRefusal := refusalIn(err)
	isForbidden := isRefusal && (refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden)
	if isForbidden || one.isPlain {
		w.done(one.run)
		return
	}
	why := fmt.Errorf("the %s was refused: %w", one.verb, err)
	if one.verb == verbAck {
		why = Dead(why)
	}
	plain := nackOf(one.run, why)
	plain.isPlain = true
	if one.verb == verbNack {
		plain.nack.Error = Ptr(cut(*one.nack.Error+"\n"+*plain.nack.Error, mostText))
		plain.nack.Retry = one.nack.Retry
	}
	w.settle(one.run, plain)
}
