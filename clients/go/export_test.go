package dibs

import "time"

// UsualRest is how long a worker goes on without a session that it cannot have.
var UsualRest = usualSessionTimes.rest

// ShortenSession makes times of sessions shorter: until the first line, between lines, and without a session that it cannot have.
func (w *Worker) ShortenSession(patience, silence, rest time.Duration) {
	w.sessionTimes = usualSessionTimes
	w.sessionTimes.patience, w.sessionTimes.silence, w.sessionTimes.rest = patience, silence, rest
}

// LetFirstClaimWait makes the time longer for which the first claim waits for the session.
func (w *Worker) LetFirstClaimWait(head time.Duration) {
	w.sessionTimes = usualSessionTimes
	w.sessionTimes.head = head
}
