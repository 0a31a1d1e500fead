package dibs

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// How long a handler may take to end after its context, when the worker stops.
	last = time.Second
	// How long the worker then tries to send what is left, and how long it tries to take back a claim.
	flush = 5 * time.Second
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
