package dibs_test

import (
	"context"
	"math"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// working is a worker whose handlers of a fake's jobs go on until their contexts end, or release is closed.
func working(t *testing.T, jobs int) (worker *dibs.Worker, fake *dibstest.Fake, begun chan string, release chan struct{}) {
	fake = dibstest.New()
	enqueue(t, fake, jobs)
	begun, release = make(chan string, jobs), make(chan struct{})
	worker = &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}, Handler: func(ctx context.Context, job *dibs.Work) error {
		begun <- job.ID
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-release:
			return nil
		}
	}}
	return worker, fake, begun, release
}

func stateOf(fake *dibstest.Fake) dibs.JobState { return fake.Jobs("mail")[0].State }

// ends fails the test when act does not return.
func ends(t *testing.T, what string, act func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		act()
	}()
	await(t, over, what)
}

func TestAWorkerThatIsStoppedBeforeItRunsClaimsNothing(t *testing.T) {
	client := answering(func(*http.Request) (*http.Response, error) {
		t.Error("it sent a request")
		return nil, context.Canceled
	})
	handler := func(context.Context, *dibs.Work) error { return nil }
	worker := &dibs.Worker{Client: client, Handler: handler}
	ends(t, "Stop", worker.Stop)
	ends(t, "Stop", worker.Stop)
	if err := worker.Run(within(t)); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	worker = &dibs.Worker{Client: client, Handler: handler}
	if err := worker.Run(over); err != nil {
		t.Error(err)
	}
	ends(t, "Stop", worker.Stop)
}

func TestStopMayBeCalledManyTimesAtOnceAndAfterTheEnd(t *testing.T) {
	worker, fake, begun, release := working(t, 1)
	ended := run(worker)
	await(t, begun, "the job")
	var calls sync.WaitGroup
	for range 100 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			worker.StopWithin(math.MaxInt64)
		}()
	}
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	ends(t, "100 calls of Stop", calls.Wait)
	if err := await(t, ended, "the end of Run"); err != nil || stateOf(fake) != "completed" {
		t.Errorf("got %v, and the job is %s", err, stateOf(fake))
	}
	ends(t, "Stop after the end", worker.Stop)
}

func TestAHandlerThatStopsItsWorkerEndsItsJob(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	worker := &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}}
	worker.Handler = func(context.Context, *dibs.Work) error {
		worker.Stop()
		worker.StopWithin(time.Hour)
		return nil
	}
	if err := await(t, run(worker), "the end of Run"); err != nil {
		t.Error(err)
	}
	if job := fake.Jobs("mail")[0]; job.State != "completed" || job.Deliveries != 1 {
		t.Errorf("got %+v", job)
	}
}

// Worker is one of another package.
type Worker struct{ inner *dibs.Worker }

func (w *Worker) attempt() { w.inner.Stop() }

func TestAMethodOfAnotherPackageThatStopsAWorkerWaitsForItsEnd(t *testing.T) {
	worker, fake, begun, release := working(t, 1)
	ended := run(worker)
	await(t, begun, "the job")
	time.AfterFunc(300*time.Millisecond, func() { close(release) })
	ends(t, "Stop", (&Worker{worker}).attempt)
	if stateOf(fake) != "completed" {
		t.Errorf("Stop returned while the job was %s", stateOf(fake))
	}
	await(t, ended, "the end of Run")
}

func TestWorkersThatStopEachOtherEnd(t *testing.T) {
	first, second := &dibs.Worker{}, &dibs.Worker{}
	var both sync.WaitGroup
	both.Add(2)
	stops := func(other *dibs.Worker) dibs.Handler {
		return func(context.Context, *dibs.Work) error {
			both.Done()
			both.Wait()
			other.Stop()
			return nil
		}
	}
	first.Handler, second.Handler = stops(second), stops(first)
	fakes := []*dibstest.Fake{dibstest.New(), dibstest.New()}
	for i, worker := range []*dibs.Worker{first, second} {
		enqueue(t, fakes[i], 1)
		worker.Client, worker.Queues = fakes[i].Client(), []string{"mail"}
	}
	firstEnded, secondEnded := run(first), run(second)
	await(t, firstEnded, "the end of the first")
	await(t, secondEnded, "the end of the second")
	if stateOf(fakes[0]) != "completed" || stateOf(fakes[1]) != "completed" {
		t.Errorf("the jobs are %s and %s", stateOf(fakes[0]), stateOf(fakes[1]))
	}
}

func TestAGoroutineThatAHandlerWaitsForMayWaitForStopUntilTheDeadline(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	worker := &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}, StopAfter: 100 * time.Millisecond}
	worker.Handler = func(context.Context, *dibs.Work) error {
		over := make(chan struct{})
		go func() {
			worker.Stop()
			close(over)
		}()
		<-over
		return nil
	}
	if err := await(t, run(worker), "the end of Run"); err != nil {
		t.Error(err)
	}
	if job := fake.Jobs("mail")[0]; job.State != "ready" || job.Attempt != 0 {
		t.Errorf("got %+v", job)
	}
}

func TestObserveMayStopItsWorkerAtEachEvent(t *testing.T) {
	for _, event := range []string{"claimed", "started", "ended", "settled", "stopping", "stopped"} {
		t.Run(event, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 1)
			worker := &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}, Handler: func(context.Context, *dibs.Work) error {
				return nil
			}}
			var heard []string
			worker.Observe = func(one dibs.Event) {
				heard = append(heard, one.Type)
				if one.Type == event || one.Type == "settled" {
					worker.Stop()
				}
			}
			if err := await(t, run(worker), "the end of Run"); err != nil {
				t.Error(err)
			}
			// Run returns when Observe was told all.
			if heard[len(heard)-1] != "stopped" {
				t.Errorf("it heard %v", heard)
			}
		})
	}
}

func TestAnObserverThatFailsStopsNoWork(t *testing.T) {
	for name, end := range map[string]func(){"panics": func() { panic("observe") }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 3)
			var heard atomic.Int32
			jobs := finish(t, fake, &dibs.Worker{
				Handler: func(context.Context, *dibs.Work) error { return nil },
				Observe: func(dibs.Event) {
					heard.Add(1)
					end()
				},
			})
			for _, job := range jobs {
				if job.State != "completed" {
					t.Errorf("got %+v", job)
				}
			}
			if heard.Load() < 9 {
				t.Errorf("it heard %d events", heard.Load())
			}
		})
	}
}

func TestAnObserverThatHangsKeepsNeitherWorkNorStop(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 3)
	forever := make(chan struct{})
	defer close(forever)
	jobs := finish(t, fake, &dibs.Worker{
		Handler: func(context.Context, *dibs.Work) error { return nil },
		Observe: func(dibs.Event) { <-forever },
	})
	if jobs[2].State != "completed" {
		t.Errorf("got %+v", jobs[2])
	}
}

func TestAHandlerThatNeverReturnsKeepsNoWorkerFromStopping(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	begun, forever := make(chan struct{}), make(chan struct{})
	defer close(forever)
	worker := &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}, Handler: func(context.Context, *dibs.Work) error {
		close(begun)
		<-forever
		return nil
	}}
	ended := run(worker)
	await(t, begun, "the job")
	ends(t, "StopWithin(-1)", func() { worker.StopWithin(-1) })
	if err := await(t, ended, "the end of Run"); err != nil || stateOf(fake) != "ready" || fake.Jobs("mail")[0].Attempt != 0 {
		t.Errorf("got %v, and %+v", err, fake.Jobs("mail")[0])
	}
}

type requestID struct{}

func TestARunWhoseContextEndsLetsItsHandlersEnd(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	begun := make(chan context.Context)
	release := make(chan struct{})
	worker := &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}, Handler: func(ctx context.Context, _ *dibs.Work) error {
		begun <- ctx
		<-release
		return ctx.Err()
	}}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), requestID{}, "r1"), time.Hour)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	inner := await(t, begun, "the job")
	if _, hasDeadline := inner.Deadline(); hasDeadline || inner.Value(requestID{}) != "r1" {
		t.Error("a handler has the values of Run's context, and not its end")
	}
	cancel()
	time.Sleep(100 * time.Millisecond)
	close(release)
	if err := await(t, ended, "the end of Run"); err != nil || stateOf(fake) != "completed" {
		t.Errorf("got %v, and the job is %s", err, stateOf(fake))
	}
}

func TestAWorkerRunsOnce(t *testing.T) {
	worker, _, begun, release := working(t, 1)
	ended := run(worker)
	await(t, begun, "the job")
	if worker.Run(within(t)) == nil {
		t.Error("a second Run must be refused")
	}
	close(release)
	worker.Stop()
	await(t, ended, "the end of Run")
	if worker.Run(within(t)) == nil {
		t.Error("a Run after the end must be refused")
	}
}
