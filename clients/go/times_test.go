package dibs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

func answer(request *http.Request, status int, headers http.Header, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: headers, Request: request, ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func TestTheLongestTimesAreAsGoodAsForEver(t *testing.T) {
	fake := dibstest.New()
	client := fake.Client()
	client.Timeout = math.MaxInt64
	var requests atomic.Int32
	inner := client.HTTP.Transport
	client.HTTP = &http.Client{Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
		if requests.Add(1) == 1 {
			return answer(request, 503, http.Header{}, ""), nil
		}
		return inner.RoundTrip(request)
	})}
	producer := &dibs.Producer{Client: client, Retry: math.MaxInt64}
	if _, err := producer.Enqueue(within(t), dibs.JobSpec{Queue: dibs.Ptr("mail")}); err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan context.Context), make(chan struct{})
	worker := &dibs.Worker{
		Client: client, Queues: []string{"mail"}, StopAfter: math.MaxInt64, Wait: math.MaxInt64, Lease: math.MaxInt64,
		Handler: func(ctx context.Context, _ *dibs.Work) error {
			begun <- ctx
			<-release
			return ctx.Err()
		},
	}
	ended := run(worker)
	await(t, begun, "the job")
	go worker.Stop()
	go worker.StopWithin(math.MaxInt64)
	time.Sleep(200 * time.Millisecond)
	close(release)
	if err := await(t, ended, "the end of Run"); err != nil || stateOf(fake) != "completed" {
		t.Errorf("got %v, and the job is %s", err, stateOf(fake))
	}
	if requests.Load() > 20 {
		t.Errorf("it sent %d requests", requests.Load())
	}
}

func TestDelaysOfAnyLengthAreAFailureAtMost(t *testing.T) {
	for name, end := range map[string]error{
		"the longest nack": dibs.RetryIn(math.MaxInt64, fmt.Errorf("later")), "a negative nack": dibs.RetryIn(math.MinInt64, fmt.Errorf("later")),
	} {
		t.Run(name, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 1)
			jobs := finish(t, fake, &dibs.Worker{Handler: func(context.Context, *dibs.Work) error { return end }})
			if jobs[0].State != "dead" || jobs[0].Error != "later" {
				t.Errorf("got %+v", jobs[0])
			}
		})
	}
}

// settleAll answers each item of a settlement that it counted, and whatever it claims with nothing.
func settleAll(body []byte) string {
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(body, &asked); err != nil {
		panic(err)
	}
	answer := map[string]any{"jobs": []any{}}
	for _, list := range []string{"acks", "nacks", "releases", "extends"} {
		var items []struct{}
		_ = json.Unmarshal(asked[list], &items)
		results := make([]map[string]any, len(items))
		for i := range results {
			results[i] = map[string]any{"id": "j", "status": 200}
		}
		answer[list] = results
	}
	text, _ := json.Marshal(answer)
	return string(text)
}

// leasing answers the first claim with a lease of so many seconds, and extends and settles all.
func leasing(seconds string, requests *atomic.Int32) *dibs.Client {
	var claims atomic.Int32
	return answering(func(request *http.Request) (*http.Response, error) {
		requests.Add(1)
		body, _ := io.ReadAll(request.Body)
		switch {
		case strings.HasSuffix(request.URL.Path, "/claim") && claims.Add(1) == 1:
			return answer(request, 200, nil, `{"jobs": [{"id": "j", "lease_token": "t", "lease_seconds": `+seconds+`}]}`), nil
		case strings.HasSuffix(request.URL.Path, "/claim") && strings.Contains(string(body), `"wait_seconds":0,`):
			return answer(request, 200, nil, `{"jobs": []}`), nil
		case strings.HasSuffix(request.URL.Path, "/claim"):
			<-request.Context().Done()
			return nil, request.Context().Err()
		default:
			return answer(request, 200, nil, settleAll(body)), nil
		}
	})
}

func TestALeaseOfAnyLengthIsExtendedWithoutAHurry(t *testing.T) {
	for _, seconds := range []string{"0", "-1", "1e-300", "1e300", "0.1", "9223372036.854775807"} {
		t.Run(seconds, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			settled := make(chan struct{})
			began := time.Now()
			worker := &dibs.Worker{
				Client:      leasing(seconds, &requests),
				Concurrency: 1,
				Handler: func(ctx context.Context, _ *dibs.Work) error {
					select {
					case <-ctx.Done():
					case <-time.After(time.Second):
					}
					return ctx.Err()
				},
				Observe: func(event dibs.Event) {
					if event.Type == "settled" {
						close(settled)
					}
				},
			}
			ended := run(worker)
			await(t, settled, "the settlement")
			worker.StopWithin(0)
			await(t, ended, "the end of Run")
			// A lease of 0.1 s is extended after 27 ms at the earliest.
			if most := 10 + time.Since(began)/(20*time.Millisecond); time.Duration(requests.Load()) > most {
				t.Errorf("it sent %d requests", requests.Load())
			}
		})
	}
}

func TestAnyRetryAfterIsWaitedOutForAMinuteAtMost(t *testing.T) {
	for _, after := range []string{"NaN", "Inf", "-Inf", "-1", "1e300", "1e400", "99999999999999999999", "soon", "Wed, 21 Oct 2065 07:28:00 GMT"} {
		t.Run(after, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			client := answering(func(request *http.Request) (*http.Response, error) {
				requests.Add(1)
				return answer(request, 503, http.Header{"Retry-After": {after}}, ""), nil
			})
			_, err := (&dibs.Producer{Client: client, Retry: time.Second}).Enqueue(within(t), dibs.JobSpec{})
			if !dibs.IsTemporary(err) || requests.Load() > 100 {
				t.Errorf("got %v after %d requests", err, requests.Load())
			}
		})
	}
}

func TestACallThatTheProgramGivesUpSaysSoAndWhatCameBefore(t *testing.T) {
	client := answering(func(request *http.Request) (*http.Response, error) { return answer(request, 503, nil, ""), nil })
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := (&dibs.Producer{Client: client}).Enqueue(ctx, dibs.JobSpec{})
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") || !strings.Contains(err.Error(), "http_503") {
		t.Errorf("got %v", err)
	}
}

func TestAnAnswerWithoutAJobIsALostEnqueue(t *testing.T) {
	for _, body := range []string{"", "null", "[]", "{}", `{"status": "ok"}`, `{"id": 7}`, "<html>"} {
		var keys []string
		fake := dibstest.New()
		client := answering(func(request *http.Request) (*http.Response, error) {
			keys = append(keys, request.Header.Get("Idempotency-Key"))
			if len(keys) == 1 {
				return answer(request, 200, nil, body), nil
			}
			return fake.Client().HTTP.Transport.RoundTrip(request)
		})
		job, err := (&dibs.Producer{Client: client}).Enqueue(within(t), dibs.JobSpec{})
		if err != nil || job.ID == "" || len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("%q: got %v after %v", body, err, keys)
		}
	}
}
