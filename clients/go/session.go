package dibs

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand"
	"time"
)

const (
	usualResume = 5 * time.Second
	mostResume  = time.Minute
)

// sessionTimes are those of a keeper. Tests make them shorter.
type sessionTimes struct {
	// head is how long claims wait for a session that is being opened, or resumed after it was steady.
	head time.Duration
	// patience is for the first line. What keeps it back for longer is a proxy that buffers.
	patience time.Duration
	// silence is for each further line. Dibs sends one every 3 s.
	silence time.Duration
	// rest is how long the worker goes on without a session that it cannot have. A third more at most, at random.
	rest time.Duration
	// steady is a session that was held for so long. One that was not is a failure in a row of failures.
	steady time.Duration
}

var usualSessionTimes = sessionTimes{
	head: time.Second, patience: 5 * time.Second, silence: 10 * time.Second, rest: time.Minute, steady: 5 * time.Second,
}

// Why a connection holds the session no longer, beside what fails a request.
var (
	errLate         = errors.New("no line came in time")
	errSessionEnded = errors.New("Dibs has ended the session")
	// errLetGo: this replica stops, another connection has resumed the session, or the key is replaced, changed or revoked. Whether the
	// worker may resume it, Dibs says then.
	errLetGo   = &ConnectionError{errors.New("Dibs has let go of the session")}
	errForeign = &ConnectionError{errors.New("the answer is not of Dibs: it has no session")}
)

// keeper holds the session of a worker from the start of Run until the worker has ended:
//
//	away --a first line--> held --its connection ends, or is silent--> away
//
// Claims name the session while it is held, and go without it else. What fails here fails nothing else, and nobody is told.
type keeper struct {
	worker *Worker
	times  sessionTimes
	resume time.Duration
	// The lock of the worker is for all that follow. id is of the session that is held or can be resumed, or empty.
	id       string
	isHeld   bool
	hangUp   context.CancelCauseFunc
	failures int
	// New claims wait until then.
	claimsFrom time.Time
	// Closed when the goroutine has ended.
	over chan struct{}
}

// beginSession opens a session, beside the work. The caller holds the lock.
func (w *Worker) beginSession() {
	if w.sessionTimes == (sessionTimes{}) {
		w.sessionTimes = usualSessionTimes
	}
	k := &keeper{worker: w, times: w.sessionTimes, resume: orDefault(w.Resume, usualResume), over: make(chan struct{})}
	k.claimsFrom = time.Now().Add(k.times.head)
	w.keeper = k
	go k.keep(w.ctx)
}

// sessionEnded: Dibs takes back the leases of this session. They are extended at once: then Dibs says so of each. The caller holds the
// lock.
func (w *Worker) sessionEnded(session string) {
	for r := range w.runs {
		if r.session != "" && r.session == session {
			r.doubt()
		}
	}
	w.scheduleBeat()
	if k := w.keeper; k.id == session {
		k.id, k.isHeld = "", false
		k.hangUp(errSessionEnded)
	}
}

// current is the session that a new claim names, or empty. The caller holds the lock.
func (k *keeper) current() string {
	if k == nil || !k.isHeld {
		return ""
	}
	return k.id
}

// claimDue is when a new claim may go. The caller holds the lock.
func (w *Worker) claimDue() time.Time {
	if w.keeper != nil && w.phase == working && w.keeper.claimsFrom.After(w.claimNotBefore) {
		return w.keeper.claimsFrom
	}
	return w.claimNotBefore
}

// hasLeft tells whether the worker has given up the session of a claim. The caller holds the lock.
func (k *keeper) hasLeft(session string) bool { return session != "" && session != k.id }

// await waits until the connection is closed. A transport that does not end with its context is not waited for.
func (k *keeper) await() {
	if k == nil {
		return
	}
	select {
	case <-k.over:
	case <-time.After(flush):
	}
}

func (k *keeper) keep(ctx context.Context) {
	defer close(k.over)
	for {
		// If the transport ends its goroutine, the worker goes on without a session for a while.
		held, why := apart(ctx, "the transport", func() (time.Duration, error) { return k.hold(ctx) })
		timer := time.NewTimer(k.left(held, why))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// hold opens or resumes the session. When this connection holds it no longer, it returns for how long it did, and why that is over.
func (k *keeper) hold(ctx context.Context) (held time.Duration, why error) {
	ctx, hangUp := context.WithCancelCause(ctx)
	defer hangUp(nil)
	call := k.attempt(hangUp)
	late := time.AfterFunc(k.times.patience, func() { hangUp(errLate) })
	defer late.Stop()
	var since time.Time
	why = k.worker.Client.lines(ctx, call, func(text []byte) error {
		line, err := readLine(text, since.IsZero())
		if err != nil {
			return err
		}
		late.Reset(k.times.silence)
		if since.IsZero() {
			since = time.Now()
			k.holds(ctx, *line.Session)
		}
		return nil
	})
	if said := context.Cause(ctx); said != nil {
		why = said
	}
	if !since.IsZero() {
		held = time.Since(since)
	}
	return held, why
}

// attempt is the request that opens or resumes the session.
func (k *keeper) attempt(hangUp context.CancelCauseFunc) *call {
	k.worker.mu.Lock()
	defer k.worker.mu.Unlock()
	k.hangUp = hangUp
	request := SessionRequest{ResumeSeconds: Ptr(k.resume.Seconds())}
	if k.id != "" {
		request.Session = Ptr(k.id)
	}
	return newCall("POST", "/sessions", request)
}

// holds: the first line has come, unless somebody has hung up meanwhile.
func (k *keeper) holds(ctx context.Context, session string) {
	k.worker.mu.Lock()
	defer k.worker.mu.Unlock()
	if ctx.Err() == nil {
		k.id, k.isHeld = session, true
		k.letClaim()
	}
}

// letClaim: claims wait no longer for the session.
func (k *keeper) letClaim() {
	if !k.claimsFrom.IsZero() {
		k.claimsFrom = time.Time{}
		k.worker.pump()
	}
}

// left: this connection holds the session no longer. It returns how long to wait before the next one.
func (k *keeper) left(held time.Duration, why error) time.Duration {
	k.worker.mu.Lock()
	defer k.worker.mu.Unlock()
	k.isHeld = false
	if held < k.times.steady {
		k.letClaim()
	} else {
		k.failures = 0
		k.claimsFrom = time.Now().Add(k.times.head)
	}
	hasEnded := why == errSessionEnded || isSessionGone(why)
	switch {
	case hasEnded:
		k.worker.sessionEnded(k.id)
	case held > 0: // It was cut, or fell silent.
	case why == errLate && k.isNeeded():
		return 0 // Each attempt lets the session last for a little longer.
	case why == errLate:
		k.id = ""
		return k.rest()
	case !IsTemporary(why):
		return k.rest()
	}
	pause := min(backoff(k.failures, why), longestPause)
	if k.failures == 0 && (held > 0 || hasEnded) {
		pause = 0
	}
	k.failures++
	return pause
}

// isNeeded: jobs of the session are not done.
func (k *keeper) isNeeded() bool {
	for r := range k.worker.runs {
		if r.session != "" && r.session == k.id {
			return true
		}
	}
	return false
}

func (k *keeper) rest() time.Duration {
	return k.times.rest + time.Duration(rand.Float64()*float64(k.times.rest)/3)
}

func isSessionGone(err error) bool {
	refusal, isRefusal := refusalIn(err)
	return isRefusal && refusal.Code == "session_not_found"
}

// readLine reads a line of the answer. The error is why the session is held no longer.
func readLine(text []byte, isFirst bool) (SessionLine, error) {
	var line SessionLine
	if err := json.Unmarshal(text, &line); err != nil {
		return line, errForeign
	}
	switch {
	case line.Lost != nil && *line.Lost == "session_ended":
		return line, errSessionEnded
	case line.Lost != nil:
		return line, errLetGo
	case isFirst && (line.Session == nil || *line.Session == ""):
		return line, errForeign
	}
	return line, nil
}
