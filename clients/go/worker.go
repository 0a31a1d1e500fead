package dibs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

type phase int

const (
	fresh phase = iota
	working
	stopping
	stopped
)

// Worker claims jobs, lets the handler work on them, extends their leases, and settles them.
//
//	fresh --Run--> working --Stop, or a refused claim--> stopping --nothing is left, or time is up--> stopped
//
// Three kinds of request go side by side, at most one of each: a claim that waits for jobs, a settlement of all that is done, and an
// attempt to take back a claim when the worker stops. While no claim waits, a settlement carries one that does not wait: then there is
// one request for each job. pump looks at what stands, and sends what is due. It is called after each change. A keeper holds the session.
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
	// Name is shown to people who look at a job. Default: host:pid.
	Name string
	// StopAfter: how long Stop lets handlers go on. Then their contexts end. A second later their jobs are released. Default: 25 s.
	StopAfter time.Duration
	// NoSession: it holds no session. With one, its jobs go to others Resume after it was killed, however long their leases are.
	NoSession bool
	// Resume is how long a session lasts without its connection, up to 60 s. Default: 5 s.
	Resume time.Duration
	// Middleware goes around each handler, the first one outermost.
	Middleware []Middleware
	// Logger is told which jobs failed, and what else went wrong. Default: slog.Default().
	Logger *slog.Logger
	// Observe is told all that the worker does: one event after the other, in order, beside the work. While it blocks, up to 100,000
	// events wait; later ones are dropped, see Event.Missed. A panic of it is ignored.
	Observe func(Event)

	mu              sync.Mutex
	phase           phase
	handler         Handler
	queues          []string
	name            string
	places          int
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
	stopBy          time.Time
	closeUntil      time.Time
	timer           *time.Timer
	beatTimer       *time.Timer
	stopTimers      []*time.Timer
	err             error
	// nil where it holds no session.
	keeper       *keeper
	sessionTimes sessionTimes

	// Who tells the log, and who tells Observe, if it is there.
	log, observer *teller
}

// Run works until Stop, or until ctx is done: then it stops as Stop does, and returns nil. The contexts of handlers have the values of
// ctx, and do not end with it. It returns an *Error when Dibs refuses a claim for good: a name that is wrong, a key that may not.
func (w *Worker) Run(ctx context.Context) error {
	handler, err := w.checked(ctx)
	if err != nil {
		return err
	}
	w.mu.Lock()
	if w.phase == fresh && ctx.Err() != nil {
		w.phase = stopped
	}
	if w.phase == stopped && w.ended == nil {
		w.mu.Unlock()
		return nil // It was stopped before it ran: a goroutine may begin late.
	}
	if w.phase != fresh {
		w.mu.Unlock()
		return errors.New("dibs: a worker runs once")
	}
	w.handler = handler
	w.queues = slices.Clone(w.Queues)
	w.name = w.Name
	if w.name == "" {
		w.name = ownName()
	}
	w.places = w.Concurrency
	if w.places == 0 {
		w.places = 10
	}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.ended = make(chan struct{})
	w.runs = map[*run]bool{}
	w.log = &teller{hear: w.reporter()}
	if w.Observe != nil {
		w.observer = &teller{hear: w.Observe}
	}
	w.phase = working
	if !w.NoSession {
		w.beginSession()
	}
	w.pump()
	w.mu.Unlock()
	select {
	case <-ctx.Done():
		w.Stop()
	case <-w.ended:
	}
	w.awaitEnd()
	return w.err
}

// ownName is host:pid, or nothing where the host has no name.
func ownName() string {
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.200s:%d", host, os.Getpid())
}

// checked is the handler with its middleware, or what is wrong with the settings.
func (w *Worker) checked(ctx context.Context) (Handler, error) {
	switch {
	case ctx == nil:
		return nil, errors.New("dibs: the context of Run is nil")
	case w.Client == nil:
		return nil, errors.New("dibs: the worker has no Client")
	case w.Handler == nil:
		return nil, errors.New("dibs: the worker has no Handler")
	case w.Concurrency < 0 || w.Concurrency > 1000:
		return nil, errors.New("dibs: Concurrency must be from 1 to 1000")
	case w.Lease < 0 || w.Wait < 0 || w.StopAfter < 0:
		return nil, errors.New("dibs: Lease, Wait and StopAfter must not be negative")
	case w.Resume < 0 || w.Resume > mostResume:
		return nil, errors.New("dibs: Resume must be from 0 to 60 s")
	}
	handler := w.Handler
	for i := len(w.Middleware) - 1; i >= 0; i-- {
		around := w.Middleware[i]
		if around != nil {
			handler = around(handler)
		}
		if around == nil || handler == nil {
			return nil, fmt.Errorf("dibs: Middleware[%d] is nil, or makes no handler", i)
		}
	}
	return handler, nil
}

func (w *Worker) free() int {
	free := w.places
	for r := range w.runs {
		if r.state == running {
			free--
		}
	}
	return free
}

// mayClaim: while Dibs takes no settlements, no more jobs are done than it would take at once.
func (w *Worker) mayClaim() bool {
	return w.phase == working && !w.claiming && w.free() > 0 && len(w.outbox) < maxItems
}

// mayCarry tells whether a settlement may carry the claim. One that is repeated goes by itself.
func (w *Worker) mayCarry(now time.Time) bool {
	return w.mayClaim() && !w.claimDue().After(now) && (w.claim == nil || !w.claim.repeated)
}
