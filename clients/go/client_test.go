package dibs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// ofAnother are refusals as another Dibs would say them, or the key of it.
var ofAnother = []*dibs.Error{
	{Code: "unauthorized", Status: 401}, {Code: "forbidden", Status: 403}, {Code: "session_not_found", Status: 404},
	{Code: "lease_lost", Status: 409}, {Code: "batch_closed", Status: 409}, {Code: "internal", Status: 500, RetryAfter: time.Hour},
}

func TestARefusalInAnErrorOfAKeyFuncOrATransportIsNoneOfDibs(t *testing.T) {
	for _, other := range ofAnother {
		for name, client := range map[string]*dibs.Client{
			"a KeyFunc": {KeyFunc: func(context.Context) (string, error) { return "", fmt.Errorf("no key: %w", other) }},
			"a transport": answering(func(*http.Request) (*http.Response, error) {
				return nil, fmt.Errorf("no answer: %w", other)
			}),
			"a panic": answering(func(*http.Request) (*http.Response, error) { panic(other) }),
		} {
			t.Run(name+" with "+other.Code, func(t *testing.T) {
				_, err := client.GetVersion(within(t))
				if !dibs.IsTemporary(err) || !dibs.IsTemporary(fmt.Errorf("asking: %w", err)) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

func TestAWorkerGoesOnThroughRefusalsInErrorsOfItsKeyFunc(t *testing.T) {
	for _, other := range ofAnother {
		t.Run(other.Code, func(t *testing.T) {
			t.Parallel()
			fake := dibstest.New()
			enqueue(t, fake, 3)
			client := fake.Client()
			var calls atomic.Int32
			client.KeyFunc = func(context.Context) (string, error) {
				if calls.Add(1)%2 == 0 {
					return "", fmt.Errorf("no key: %w", other)
				}
				return "key", nil
			}
			jobs := finishWith(t, fake, client, &dibs.Worker{Concurrency: 1, Handler: func(_ context.Context, job *dibs.Work) error {
				return job.Report(50)
			}})
			for _, job := range jobs {
				if job.State != "completed" || job.Deliveries != 1 || string(job.Progress) != "50" {
					t.Errorf("got %+v", job)
				}
			}
		})
	}
}

func TestABatchIsNotClosedByARefusalInAnErrorOfAKeyFunc(t *testing.T) {
	producer, asked := scripted(ok(open))
	calls := 0
	producer.Client.KeyFunc = func(context.Context) (string, error) {
		if calls++; calls < 4 {
			return "", &dibs.Error{Code: "batch_closed", Status: 409}
		}
		return "key", nil
	}
	if err := producer.BatchByID("b").Close(within(t)); err != nil || len(*asked) != 1 {
		t.Errorf("got %v after %d requests", err, len(*asked))
	}
}

// odd is a body that does what no body should, for each way.
var odd = map[string]io.ReadCloser{
	"panics":                 oddBody{read: func([]byte) (int, error) { panic("body") }},
	"ends its goroutine":     oddBody{read: func([]byte) (int, error) { runtime.Goexit(); return 0, nil }},
	"lies":                   oddBody{read: func([]byte) (int, error) { return -1, nil }},
	"has nothing":            oddBody{read: func([]byte) (int, error) { return 0, nil }},
	"hangs":                  oddBody{read: func([]byte) (int, error) { select {} }},
	"panics when it is over": oddBody{read: func([]byte) (int, error) { return 0, io.EOF }, close: func() error { panic("close") }},
	"never ends": oddBody{read: func(into []byte) (int, error) {
		for i := range into {
			into[i] = ' '
		}
		return len(into), nil
	}},
}

func TestABodyThatDoesWhatNoBodyShouldIsALostAnswer(t *testing.T) {
	for name, body := range odd {
		for _, status := range []int{200, 400} {
			t.Run(fmt.Sprintf("%s, %d", name, status), func(t *testing.T) {
				client := answering(func(request *http.Request) (*http.Response, error) {
					response := answer(request, status, nil, "")
					response.Body = body
					return response, nil
				})
				client.Timeout = 2 * time.Second
				ends(t, "the error", func() {
					if _, err := client.GetVersion(within(t)); !dibs.IsTemporary(err) {
						t.Errorf("got %v", err)
					}
				})
			})
		}
	}
}

func TestAWorkerGoesOnWhateverItsTransportDoes(t *testing.T) {
	acts := map[string]func(*http.Request) (*http.Response, error){
		"it ends its goroutine": func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil },
		"it panics":             func(*http.Request) (*http.Response, error) { panic("transport") },
		"it hangs":              func(*http.Request) (*http.Response, error) { select {} },
	}
	for name, body := range odd {
		acts["a body "+name] = func(request *http.Request) (*http.Response, error) {
			response := answer(request, 200, nil, "")
			response.Body = body
			return response, nil
		}
	}
	delete(acts, "a body never ends") // It takes much memory.
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := dibstest.New()
			enqueue(t, fake, 2)
			var asked sync.Map
			client := before(fake, func(request *http.Request) (*http.Response, error) {
				if _, isAgain := asked.LoadOrStore(request.URL.Path, true); !isAgain {
					return act(request)
				}
				return nil, nil
			})
			client.Timeout = time.Second
			worker := &dibs.Worker{Concurrency: 1, NoSession: true, Wait: time.Millisecond}
			worker.Handler = func(_ context.Context, job *dibs.Work) error { return job.Report(50) }
			for _, job := range finishWith(t, fake, client, worker) {
				if job.State != "completed" || job.Deliveries != 1 || string(job.Progress) != "50" {
					t.Errorf("got %+v", job)
				}
			}
		})
	}
}

func TestAKeyThatATransportPutsInPlaceOfThatOfTheFileIsNoNewKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	requests := 0
	client := answering(func(request *http.Request) (*http.Response, error) {
		request.Header.Set("Authorization", "Bearer another")
		if requests++; requests > 100 {
			return answer(request, 200, nil, `{"version": "1.2.3"}`), nil
		}
		return refusing(request, 401, "unauthorized"), nil
	})
	client.KeyFile = file
	if _, err := client.GetVersion(within(t)); codeOf(err) != "unauthorized" || requests != 1 {
		t.Errorf("got %v after %d requests", err, requests)
	}
}

func TestWhenRunReturnsTheTransportHasDoneSoToo(t *testing.T) {
	fake := dibstest.New()
	begun, requests := make(chan struct{}), 0
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		if requests++; requests > 1 {
			return nil, nil
		}
		close(begun)
		<-request.Context().Done()
		time.Sleep(10 * time.Millisecond)
		requests = 100
		return nil, request.Context().Err()
	})
	worker := &dibs.Worker{Client: client, NoSession: true, Handler: succeeds}
	ended := run(worker)
	await(t, begun, "the claim")
	worker.Stop()
	if err := await(t, ended, "the end of Run"); err != nil || requests != 100 {
		t.Errorf("got %v, and it sets %d", err, requests)
	}
}
