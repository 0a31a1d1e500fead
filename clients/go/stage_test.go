package dibs_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// within ends long after every test should have.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func enqueue(t *testing.T, fake *dibstest.Fake, count int) {
	t.Helper()
	jobs := make([]dibs.JobSpec, count)
	for i := range jobs {
		jobs[i] = dibs.JobSpec{Queue: dibs.Ptr("mail"), Payload: []byte("1")}
	}
	if _, err := (&dibs.Producer{Client: fake.Client()}).EnqueueAll(within(t), jobs); err != nil {
		t.Fatal(err)
	}
}

// run begins to work. What comes is what Run returned.
func run(worker *dibs.Worker) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(context.Background()) }()
	return ended
}

// await fails the test when nothing comes in time.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// finish works until each job is completed or dead.
func finish(t *testing.T, fake *dibstest.Fake, worker *dibs.Worker) []dibstest.Job {
	t.Helper()
	return finishWith(t, fake, fake.Client(), worker)
}

// finishWith is finish with a client that stands before the fake.
func finishWith(t *testing.T, fake *dibstest.Fake, client *dibs.Client, worker *dibs.Worker) []dibstest.Job {
	t.Helper()
	worker.Client, worker.Queues = client, []string{"mail"}
	ended := run(worker)
	if err := fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	worker.Stop()
	if err := await(t, ended, "the end of Run"); err != nil {
		t.Fatal(err)
	}
	return fake.Jobs("mail")
}

// before is a client of a fake whose requests this answers first. Where it answers nothing, the fake does.
func before(fake *dibstest.Fake, answer func(*http.Request) (*http.Response, error)) *dibs.Client {
	transport := fake.Client().HTTP.Transport
	return answering(func(request *http.Request) (*http.Response, error) {
		if response, err := answer(request); response != nil || err != nil {
			return response, err
		}
		return transport.RoundTrip(request)
	})
}

// answering is a client whose requests are all answered by this.
func answering(answer func(*http.Request) (*http.Response, error)) *dibs.Client {
	return &dibs.Client{HTTP: &http.Client{Transport: roundTripper(answer)}}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func isNeither(err error) bool {
	var refusal *dibs.Error
	var broken *dibs.ConnectionError
	return err != nil && !errors.As(err, &refusal) && !errors.As(err, &broken)
}
