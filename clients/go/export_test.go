package dibs

import "time"

// UsualRest is how long a worker goes on without a session that it cannot have.
var UsualRest = usualSessionTimes.rest

// ShortenSession makes times of sessions shorter: until the first line, between lines, and without a session that it cannot have.
func (w *Worker) ShortenSession(patience, silence, rest time.Duration) {
	w.sessionTimes = usualSessionTimes
	w.sessionTimes.patience, w.sessionTimes.silence, w.sessionTimes.rest = patience, silence, rest
}

// LetClaimsWait sets how long claims wait for a session, and after which time it is steady.
func (w *Worker) LetClaimsWait(head, steady time.Duration) {
	w.sessionTimes = usualSessionTimes
	w.sessionTimes.head, w.sessionTimes.steady = head, steady
}

// ClaimFailures is how many claims in a row make the pause before the next one longer.
func (w *Worker) ClaimFailures() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.claimFailures
}
