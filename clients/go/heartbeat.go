package dibs

import (
	"context"
	"errors"
	"math/rand"
	"net/http"
	"time"
)

// scheduleBeat looks when the next lease is due. The caller holds the lock.
func (w *Worker) scheduleBeat() {
	var next time.Time
	isAny := false
	for r := range w.runs {
		if r.beats() && (!isAny || r.due().Before(next)) {
			next, isAny = r.due(), true
		}
	}
	if w.beatTimer != nil {
		w.beatTimer.Stop()
	}
	if isAny && w.phase != stopped {
		w.beatTimer = time.AfterFunc(max(0, time.Until(next)), w.beat)
	}
}

// beat extends the leases that are due, those that are due soon with them.
func (w *Worker) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	var batch []*run
	for r := range w.runs {
		if !r.beats() || !r.isNear(now) {
			continue
		}
		if r.state == running && now.After(r.leaseEnds) {
			w.signal(r, ErrLeaseExpired)
		}
		// A report that is refused must not spoil the extends of others.
		if r.report != nil {
			w.extend([]*run{r}, w.sendReport(r))
		} else if len(batch) < maxItems {
			batch = append(batch, r)
		}
	}
	if len(batch) > 0 {
		items := make([]ExtendItem, len(batch))
		for i, r := range batch {
			items[i] = ExtendItem{ID: r.id, LeaseToken: r.token, LeaseSeconds: r.leaseSeconds}
		}
		w.extend(batch, func(ctx context.Context) ([]SettleResult, error) {
			answer, err := w.Client.SettleJobs(ctx, SettleRequest{Extends: items})
			if err != nil {
				return nil, err
			}
			if !areAnswers(answer.Extends, len(items)) {
				return nil, errNoExtend
			}
			return answer.Extends, nil
		})
	}
	w.scheduleBeat()
}

// errNoExtend: something before Dibs has answered. The lease may be extended or not.
var errNoExtend = &ConnectionError{errors.New("the answer of an extend is not of Dibs")}

func (w *Worker) sendReport(r *run) func(context.Context) ([]SettleResult, error) {
	sent := r.report
	r.report = nil
	return func(ctx context.Context) ([]SettleResult, error) {
		body := ExtendRequest{LeaseToken: r.token, LeaseSeconds: r.leaseSeconds, Progress: sent.text}
		answer, err := w.Client.ExtendLease(ctx, r.id, body)
		if err == nil && answer.ID == "" {
			err = errNoExtend
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil && IsTemporary(err) && r.state == running {
			if r.report == nil {
				r.report = sent
			} else {
				r.report.heard = append(r.report.heard, sent.heard...)
			}
			return nil, err
		}
		for _, heard := range sent.heard {
			heard <- err
		}
		if refused, isRefusal := refusalIn(err); isRefusal && isGone(refused.Code) {
			return []SettleResult{{ID: r.id, Status: http.StatusConflict}}, nil
		}
		if err != nil {
			return nil, err
		}
		return []SettleResult{{ID: r.id, Status: http.StatusOK, CancelRequested: &answer.CancelRequested}}, nil
	}
}

// isGone: no other 404 or 409 says anything of a lease.
func isGone(code string) bool { return code == "lease_lost" || code == "job_not_found" }

// extend sends an extend of these. A slow answer counts. Without one, the extend is sent again soon: it may be that only this request
// hangs. The caller holds the lock.
func (w *Worker) extend(runs []*run, send func(context.Context) ([]SettleResult, error)) {
	sent := time.Now()
	shortest := runs[0].lease()
	turns := make([]int, len(runs))
	for i, r := range runs {
		shortest = min(shortest, r.lease())
		r.extending = true
		r.turn++
		turns[i] = r.turn
	}
	free := func() {
		for i, r := range runs {
			if r.turn == turns[i] {
				r.extending = false
			}
		}
		w.scheduleBeat()
	}
	overdue := time.AfterFunc(min(shortest/3, patience), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		free()
	})
	go func() {
		ctx, cancel := context.WithTimeout(w.ctx, max(time.Second, min(shortest, longestRequest)))
		defer cancel()
		results, err := send(ctx)
		overdue.Stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		var failed []*run
		for i, r := range runs {
			isKnown := r.turn != turns[i] // A later extend tells.
			if err == nil {
				isKnown = w.isKnown(r, results[i], sent)
			}
			if !isKnown {
				failed = append(failed, r)
			}
		}
		extendsFailed(failed, err)
		if err != nil {
			w.observe(Event{Type: "retrying", Request: "extend", Err: err})
		}
		free()
	}()
}

// extendsFailed: they are sent again soon, while there is something left of the leases, and after that, too: the leases may still be
// there. They have one pause, so that they go together again.
func extendsFailed(runs []*run, err error) {
	failures := 0
	for _, r := range runs {
		failures = max(failures, r.failures)
	}
	longest := longestPause + time.Duration(rand.Float64()*float64(longestPause)/3)
	now, pause := time.Now(), min(backoff(failures, err), longest)
	for _, r := range runs {
		r.extendAt = now.Add(min(r.lease()/6, pause))
		r.failures++
	}
}

// isKnown tells whether the answer of an extend says what became of the lease.
func (w *Worker) isKnown(r *run, result SettleResult, sent time.Time) bool {
	switch result.Status {
	case http.StatusOK:
		r.extended(sent)
		if result.CancelRequested != nil && *result.CancelRequested && r.state == running {
			w.signal(r, ErrCancelRequested)
		}
	case http.StatusNotFound, http.StatusConflict:
		r.lost = true
		if r.state == running {
			w.signal(r, ErrLeaseLost)
		}
	default:
		return false
	}
	return true
}
