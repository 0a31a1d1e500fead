package dibs

import (
	"fmt"
	"time"
)

const (
	maxItems = 1000
	// Dibs takes 16 MiB in a body. Results and follow-ups may be large.
	maxBytes = 8 << 20
)

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
	refusal, isRefusal := find[*Error](err)
	isBug := isRefusal && refusal.Status == 500
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
	refusal, isRefusal := find[*Error](err)
	isForbidden := isRefusal && (refusal.Status == 401 || refusal.Status == 403)
	if one.verb == verbAck && !isForbidden {
		w.settle(one.run, nackOf(one.run, Dead(fmt.Errorf("the ack was refused: %w", err))))
		return
	}
	w.done(one.run)
}
