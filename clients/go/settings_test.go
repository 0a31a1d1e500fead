package dibs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

func TestWhatIsMissingOrWrongInAWorkerIsAnErrorOfRun(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	handler := func(context.Context, *dibs.Work) error { return nil }
	client := fake.Client()
	for name, worker := range map[string]*dibs.Worker{
		"no client":            {Handler: handler},
		"no handler":           {Client: client},
		"a nil middleware":     {Client: client, Handler: handler, Middleware: []dibs.Middleware{nil}},
		"middleware of nil":    {Client: client, Handler: handler, Middleware: []dibs.Middleware{func(dibs.Handler) dibs.Handler { return nil }}},
		"too much concurrency": {Client: client, Handler: handler, Concurrency: 1001},
		"a negative lease":     {Client: client, Handler: handler, Lease: -1},
		"a negative wait":      {Client: client, Handler: handler, Wait: math.MinInt64},
		"a negative stop":      {Client: client, Handler: handler, StopAfter: -1},
		"a negative time-out":  {Client: &dibs.Client{HTTP: client.HTTP, Timeout: -1}, Handler: handler},
	} {
		t.Run(name, func(t *testing.T) {
			if err := await(t, run(worker), "the end of Run"); !isNeither(err) {
				t.Errorf("got %v", err)
			}
			worker.Stop()
		})
	}
	worker := &dibs.Worker{Client: client, Handler: handler}
	//lint:ignore SA1012 that is what is tried
	if err := worker.Run(nil); !isNeither(err) {
		t.Errorf("a nil context: got %v", err)
	}
	if job := fake.Jobs("mail")[0]; job.Deliveries != 0 {
		t.Error("a job was claimed")
	}
}

func TestARequestWithoutAClientOrAContextIsAnError(t *testing.T) {
	ctx := within(t)
	var none *dibs.Client
	if _, err := none.GetVersion(ctx); !isNeither(err) {
		t.Errorf("got %v", err)
	}
	if _, err := (&dibs.Producer{}).Enqueue(ctx, dibs.JobSpec{}); !isNeither(err) {
		t.Errorf("got %v", err)
	}
	producer := &dibs.Producer{Client: dibstest.New().Client()}
	//lint:ignore SA1012 that is what is tried
	if _, err := producer.Enqueue(nil, dibs.JobSpec{}); !isNeither(err) {
		t.Errorf("got %v", err)
	}
}

func TestEachJobHasHeadersOfItsOwn(t *testing.T) {
	fake := dibstest.New()
	defaults := map[string]string{"service": "shop"}
	producer := &dibs.Producer{Client: fake.Client(), Headers: func() map[string]string { return defaults }}
	ctx := within(t)
	acme := dibs.JobSpec{Headers: map[string]string{"tenant": "acme", "service": "own"}}
	bob := dibs.JobSpec{Headers: map[string]string{"user": "bob"}}
	var producing sync.WaitGroup
	for range 20 {
		producing.Add(1)
		go func() {
			defer producing.Done()
			if _, err := producer.EnqueueAll(ctx, []dibs.JobSpec{acme, bob, {}}); err != nil {
				t.Error(err)
			}
		}()
	}
	producing.Wait()
	want := []string{"map[service:own tenant:acme]", "map[service:shop user:bob]", "map[service:shop]"}
	for i, job := range fake.Jobs("") {
		if got := fmt.Sprint(job.Headers); got != want[i%3] {
			t.Errorf("job %d has %s", i, got)
		}
	}
	if len(defaults) != 1 || len(acme.Headers) != 2 || len(bob.Headers) != 1 {
		t.Error("a map of the program was written into")
	}
	none := &dibs.Producer{Client: fake.Client(), Headers: func() map[string]string { return nil }}
	if job, err := none.Enqueue(ctx, bob); err != nil || job.Headers["user"] != "bob" {
		t.Errorf("without headers: %v", err)
	}
}

func TestWithoutDibsURLItIsTheDibsOfThisMachine(t *testing.T) {
	t.Setenv("DIBS_URL", "")
	asked := ""
	client := dibs.ClientFromEnv()
	client.HTTP = answering(func(request *http.Request) (*http.Response, error) {
		asked = request.URL.String()
		return nil, errors.New("no answer")
	}).HTTP
	client.GetVersion(within(t))
	if asked != "http://127.0.0.1:8080/version" {
		t.Errorf("asked %q", asked)
	}
}

func TestAProgramMayWrapTheDefaultTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"version": "1.2.3"}`)
	}))
	defer server.Close()
	standard := http.DefaultTransport
	defer func() { http.DefaultTransport = standard }()
	var count atomic.Int32
	http.DefaultTransport = roundTripper(func(request *http.Request) (*http.Response, error) {
		count.Add(1)
		return standard.RoundTrip(request)
	})
	if _, err := (&dibs.Client{URL: server.URL}).GetVersion(within(t)); err != nil || count.Load() != 1 {
		t.Errorf("got %v, after %d requests through it", err, count.Load())
	}
}

func TestWhatCannotBeSentDoesNotPassAndShowsNoSecret(t *testing.T) {
	for name, client := range map[string]*dibs.Client{
		"a key of two lines":      {Key: "dibs_1_secret\nX-Evil: 1"},
		"a key with a NUL":        {Key: "dibs_1_secret\x00"},
		"a key with a space":      {Key: "dibs_1 secret"},
		"a key beyond ASCII":      {Key: "dibs_1_secré"},
		"no scheme":               {URL: "dibs.example/secret"},
		"no scheme, and a port":   {URL: "secret:8080"},
		"another scheme":          {URL: "ftp://secret"},
		"no host":                 {URL: "http:///secret"},
		"a port out of range":     {URL: "http://secret:99999"},
		"port 0":                  {URL: "http://secret:0"},
		"a password":              {URL: "http://me:secret@dibs.example"},
		"a password of odd signs": {URL: "http://me:sec ret@dibs.example"},
		"a query":                 {URL: "http://dibs.example?key=secret"},
		"an empty query":          {URL: "http://secret.example/?"},
		"a bad escape":            {URL: "http://dibs.example/%zzsecret"},
		"a control character":     {URL: "http://dibs.example/\x7fsecret"},
	} {
		t.Run(name, func(t *testing.T) {
			client.HTTP = answering(func(*http.Request) (*http.Response, error) {
				t.Error("it was sent")
				return nil, errors.New("sent")
			}).HTTP
			_, err := client.GetVersion(within(t))
			if !isNeither(err) || dibs.IsTemporary(err) || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), "sec") {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := dibstest.New().Client().EnqueueJob(within(t), dibs.JobSpec{}, &dibs.EnqueueJobOptions{IdempotencyKey: dibs.Ptr("a\nb")})
	if !isNeither(err) || !strings.Contains(err.Error(), "Idempotency-Key") {
		t.Errorf("a header of two lines: got %v", err)
	}
}

func TestALostAnswerShowsNoPassword(t *testing.T) {
	failed := errors.New(`proxyconnect: invalid proxy address "http://me:secret@proxy.example": no such host`)
	client := answering(func(*http.Request) (*http.Response, error) { return nil, failed })
	_, err := client.GetVersion(within(t))
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("got %v", err)
	}
}

func TestAPasswordInAnErrorOrItsCausesIsNeitherKeptNorLogged(t *testing.T) {
	_, malformed := url.Parse("http://me:p%ss@proxy.example")
	client := answering(func(*http.Request) (*http.Response, error) { return nil, fmt.Errorf("proxyconnect: %w", malformed) })
	_, broken := client.GetVersion(within(t))
	for name, end := range map[string]func() error{
		"a lost answer":  func() error { return broken },
		"an error":       func() error { return malformed },
		"a cause":        func() error { return &silent{"top", []error{&silent{"mid", []error{malformed}}}} },
		"a group":        func() error { return errors.Join(errors.New("a"), malformed) },
		"a group within": func() error { return &silent{"top", []error{errors.Join(malformed, malformed)}} },
		"a panic":        func() error { panic(malformed) },
		"a text":         func() error { panic(malformed.Error()) },
	} {
		t.Run(name, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 1)
			var log bytes.Buffer
			told := finish(t, fake, &dibs.Worker{
				Logger: slog.New(slog.NewTextHandler(&log, nil)), Handler: func(context.Context, *dibs.Work) error { return end() },
			})[0].Error
			for _, text := range []string{told, log.String()} {
				if strings.Contains(text, "me:p") || !strings.Contains(text, "//…@proxy.example") {
					t.Errorf("got %s", text)
				}
			}
		})
	}
}

func TestATransportThatPanicsIsALostAnswer(t *testing.T) {
	client := answering(func(*http.Request) (*http.Response, error) { panic("transport") })
	if _, err := client.GetVersion(within(t)); !dibs.IsTemporary(err) {
		t.Errorf("got %v", err)
	}
}

func TestAKeyIsAskedForBeforeEachRequest(t *testing.T) {
	fake := dibstest.New()
	var keys []string
	var calls atomic.Int32
	client := answering(func(request *http.Request) (*http.Response, error) {
		keys = append(keys, request.Header.Get("Authorization"))
		return fake.Client().HTTP.Transport.RoundTrip(request)
	})
	client.Timeout = 100 * time.Millisecond
	client.KeyFunc = func(context.Context) (string, error) {
		call := calls.Add(1)
		switch call {
		case 1:
			return "", errors.New("no token yet")
		case 2:
			panic("no token")
		case 3:
			select {}
		}
		return fmt.Sprintf(" key%d\n", call), nil
	}
	producer := &dibs.Producer{Client: client}
	for range 2 {
		if _, err := producer.Enqueue(within(t), dibs.JobSpec{}); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(keys) != "[Bearer key4 Bearer key5]" {
		t.Errorf("sent %v", keys)
	}
}

func TestAHandlerMayUseItsJobInManyGoroutines(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	jobs := finish(t, fake, &dibs.Worker{Handler: func(_ context.Context, job *dibs.Work) error {
		if job.ID != "job-1" {
			return nil
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Add(1)
			go func() {
				defer all.Done()
				job.SetResult(i)
				job.FollowUp(dibs.JobSpec{Queue: dibs.Ptr("mail")})
				if err := job.Report(i); err != nil {
					t.Error(err)
				}
				_, _, _ = job.Result(), job.LastReport(), job.FollowUps()
			}()
		}
		all.Wait()
		// One that is left behind.
		go job.FollowUp(dibs.JobSpec{Queue: dibs.Ptr("mail")})
		return nil
	}})
	time.Sleep(10 * time.Millisecond)
	if jobs[0].State != "completed" {
		t.Errorf("got %+v", jobs[0])
	}
}
