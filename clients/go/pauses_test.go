package dibs_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// busy is an answer that asks to wait for a second.
func busy(request *http.Request) *http.Response {
	return answer(request, 503, http.Header{"Retry-After": {"1"}}, "")
}

// failing are results of so many items that Dibs fails at for a while.
func failing(count int) []dibs.SettleResult {
	results := make([]dibs.SettleResult, count)
	for i := range results {
		results[i] = dibs.SettleResult{ID: "j", Status: 503, Problem: problem(503, "unavailable")}
	}
	return results
}

// waitOut fails the test when one of these three requests came within a second of the one before.
func waitOut(t *testing.T, came []time.Time) {
	t.Helper()
	for i := range 2 {
		if pause := came[i+1].Sub(came[i]); pause < time.Second {
			t.Errorf("request %d came %v after the one before", i+2, pause)
		}
	}
}

// goTogether fails the test when what came in one request did not come together in the next ones.
func goTogether(t *testing.T, requests [][]string) {
	t.Helper()
	for i, items := range requests {
		for _, later := range requests[i+1:] {
			isIn := func(item string) bool { return slices.Contains(later, item) }
			if slices.ContainsFunc(items, isIn) {
				if left := slices.DeleteFunc(slices.Clone(items), isIn); len(left) > 0 {
					t.Fatalf("%d of the %d items of request %d did not go with the others", len(left), len(items), i+1)
				}
				break
			}
		}
	}
}

func TestExtendsThatFailedTogetherGoTogetherAgainAfterAPause(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 50)
	var mu sync.Mutex
	isClaimed := false
	var extends [][]string
	var came []time.Time
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		settled := settlementIn(request)
		switch {
		case settled.Claim != nil && !isClaimed:
			isClaimed = true
			return busy(request), nil // The leases of the repeat are doubtful: they are extended first.
		case len(settled.Extends) == 0 || len(extends) == 6:
			return nil, nil
		}
		var items []string
		for _, item := range settled.Extends {
			items = append(items, item.ID)
		}
		extends, came = append(extends, items), append(came, time.Now())
		if len(extends) < 3 {
			return busy(request), nil
		}
		return answer(request, 200, nil, string(asJSON(dibs.SettleResults{Extends: failing(len(items))}))), nil
	})
	finishWith(t, fake, client, &dibs.Worker{NoSession: true, Concurrency: 50, Handler: succeeds})
	goTogether(t, extends)
	waitOut(t, came)
}

func TestAnExtendThatFailedWaitsOutItsPauseThoughOthersGoMeanwhile(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 2)
	var mu sync.Mutex
	isClaimed := false
	var came []time.Time
	tries := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(came)
	}
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		settled := settlementIn(request)
		switch {
		case settled.Claim != nil && !isClaimed:
			isClaimed = true
			return busy(request), nil // The leases of the repeat are doubtful: they are extended first.
		case len(settled.Extends) == 2:
			results := failing(2)
			for i, item := range settled.Extends {
				if item.ID == "job-1" {
					results[i] = dibs.SettleResult{ID: item.ID, Status: 200}
				}
			}
			return answer(request, 200, nil, string(asJSON(dibs.SettleResults{Extends: results}))), nil
		case len(settled.Extends) == 1 && settled.Extends[0].ID == "job-2" && len(came) < 3:
			came = append(came, time.Now())
			return busy(request), nil
		}
		return nil, nil
	})
	finishWith(t, fake, client, &dibs.Worker{NoSession: true, Concurrency: 2, Handler: func(_ context.Context, job *dibs.Work) error {
		for job.ID == "job-1" && tries() < 3 {
			if err := job.Report(1); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	}})
	waitOut(t, came)
}

func TestSettlementsThatFailedTogetherGoTogetherAgain(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 50)
	var mu sync.Mutex
	var settlements [][]string
	var handled sync.WaitGroup
	handled.Add(50)
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		settled := settlementIn(request)
		if len(settled.Acks) == 0 {
			return nil, nil
		}
		handled.Wait() // The first ack goes alone. The others wait for its answer.
		mu.Lock()
		defer mu.Unlock()
		if len(settlements) == 8 {
			return nil, nil
		}
		var items []string
		for _, item := range settled.Acks {
			items = append(items, item.ID)
		}
		settlements = append(settlements, items)
		answered := map[string]any{"acks": failing(len(items)), "jobs": []dibs.LeasedJob{}}
		return answer(request, 200, nil, string(asJSON(answered))), nil
	})
	worker := &dibs.Worker{NoSession: true, Concurrency: 50, Handler: succeeds, Observe: func(event dibs.Event) {
		if event.Type == "ended" {
			handled.Done()
		}
	}}
	finishWith(t, fake, client, worker)
	goTogether(t, settlements)
}

func TestAClaimThatAFailedSettlementCarriedWaitsOutThePauseTooAndThenGoesByItself(t *testing.T) {
	for name, fail := range map[string]func(*http.Request) *http.Response{
		"busy": busy,
		"another version": func(request *http.Request) *http.Response {
			response := refusing(request, 404, "route_not_found")
			response.Header = http.Header{"Retry-After": {"1"}}
			return response
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := dibstest.New()
			enqueue(t, fake, 2)
			var mu sync.Mutex
			var failed time.Time
			var failedID string
			client := before(fake, func(request *http.Request) (*http.Response, error) {
				mu.Lock()
				defer mu.Unlock()
				settled := settlementIn(request)
				isCarried := settled.Claim != nil && len(settled.Acks) > 0
				switch isFirst := failed.IsZero(); {
				case isFirst && isCarried:
					failed, failedID = time.Now(), *settled.Claim.ClaimID
					return fail(request), nil
				case isFirst:
				case time.Since(failed) < time.Second:
					t.Errorf("%s came %v after the failure", request.URL.Path, time.Since(failed))
				case isCarried && *settled.Claim.ClaimID == failedID:
					t.Error("the claim went with a settlement again")
				}
				return nil, nil
			})
			jobs := finishWith(t, fake, client, &dibs.Worker{NoSession: true, Concurrency: 1, Handler: succeeds})
			if failedID == "" || jobs[1].Deliveries != 1 {
				t.Errorf("the claim %q failed; got %+v", failedID, jobs[1])
			}
		})
	}
}

// answersAtOnce answers claims without jobs at once, though it should wait.
func answersAtOnce(claims *atomic.Int32) *dibs.Client {
	return answering(func(request *http.Request) (*http.Response, error) {
		claims.Add(1)
		return answer(request, 200, nil, `{"jobs": []}`), nil
	})
}

func TestAClaimThatIsAnsweredWithoutJobsAtOnceIsRepeatedAfterAPauseAndIsNoFailureToObserve(t *testing.T) {
	var claims atomic.Int32
	worker := &dibs.Worker{Client: answersAtOnce(&claims), NoSession: true, Wait: time.Second, Handler: succeeds}
	worker.Observe = func(event dibs.Event) {
		if event.Type == "retrying" || event.Err != nil {
			t.Errorf("it was told %+v", event)
		}
	}
	began := time.Now()
	ended := run(worker)
	time.Sleep(time.Second)
	// About 5 in the first second, and then one in a second.
	if most := 50 * (1 + time.Since(began)/time.Second); time.Duration(claims.Load()) > most {
		t.Errorf("it claimed %d times", claims.Load())
	}
	worker.Stop()
	if err := await(t, ended, "the end of Run"); err != nil {
		t.Error(err)
	}
}

func TestAClaimThatWaitsForLessThanASecondMayBeAnsweredAtOnce(t *testing.T) {
	var claims atomic.Int32
	worker := &dibs.Worker{Client: answersAtOnce(&claims), NoSession: true, Wait: 999 * time.Millisecond, Handler: succeeds}
	ended := run(worker)
	// With pauses, that would take minutes.
	eventually(t, "many claims", func() bool { return claims.Load() > 500 })
	worker.Stop()
	await(t, ended, "the end of Run")
}

func TestJobsOrARealWaitEndThePausesOfClaimsThatWereAnsweredAtOnce(t *testing.T) {
	for name, end := range map[string]func() string{
		"a job":       func() string { return `{"jobs": [{"id": "j", "lease_token": "t", "lease_seconds": 30}]}` },
		"a real wait": func() string { time.Sleep(600 * time.Millisecond); return `{"jobs": []}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worker := &dibs.Worker{NoSession: true, Handler: succeeds}
			var claims atomic.Int32
			after := make(chan int, 1)
			worker.Client = answering(func(request *http.Request) (*http.Response, error) {
				if request.URL.Path == "/jobs/settle" {
					return answer(request, 200, nil, string(asJSON(map[string]any{
						"acks": []dibs.SettleResult{{ID: "j", Status: 200}}, "jobs": []dibs.LeasedJob{},
					}))), nil
				}
				switch claims.Add(1) {
				case 5:
					return answer(request, 200, nil, end()), nil
				case 6:
					after <- worker.ClaimFailures()
				}
				return answer(request, 200, nil, `{"jobs": []}`), nil
			})
			ended := run(worker)
			if failures := await(t, after, "the claim after that"); failures != 0 {
				t.Errorf("the pause goes on from %d failures", failures)
			}
			worker.Stop()
			await(t, ended, "the end of Run")
		})
	}
}
