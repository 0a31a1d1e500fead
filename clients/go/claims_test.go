package dibs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// settlementIn is what a request settles and claims. A claim that goes by itself settles nothing.
func settlementIn(request *http.Request) dibs.SettleRequest {
	body, _ := io.ReadAll(request.Body)
	request.Body = io.NopCloser(bytes.NewReader(body))
	var settled dibs.SettleRequest
	switch request.URL.Path {
	case "/jobs/claim":
		settled.Claim = &dibs.ClaimRequest{}
		_ = json.Unmarshal(body, settled.Claim)
	case "/jobs/settle":
		_ = json.Unmarshal(body, &settled)
	}
	return settled
}

func refusing(request *http.Request, status int, code string) *http.Response {
	return answer(request, status, nil, string(asJSON(problem(status, code))))
}

func succeeds(context.Context, *dibs.Work) error { return nil }

func TestClaimsThatWereAnsweredLeaveNothingBehind(t *testing.T) {
	const few, many = 100, 10_100
	var claims atomic.Int32
	var first, last runtime.MemStats
	over := make(chan struct{})
	client := answering(func(request *http.Request) (*http.Response, error) {
		switch claims.Add(1) {
		case few:
			runtime.GC()
			runtime.ReadMemStats(&first)
		case many:
			runtime.GC()
			runtime.ReadMemStats(&last)
			close(over)
		}
		return answer(request, 200, nil, `{"jobs": []}`), nil
	})
	worker := &dibs.Worker{Client: client, NoSession: true, Wait: time.Millisecond, Handler: succeeds}
	ended := run(worker)
	await(t, over, "the last claim")
	worker.Stop()
	await(t, ended, "the end of Run")
	if more := int64(last.HeapObjects) - int64(first.HeapObjects); more > (many-few)/2 {
		t.Errorf("%d claims have left %d objects", many-few, more)
	}
}

func TestAClaimThatWentWithARefusedSettlementGoesByItself(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 5)
	var mu sync.Mutex
	var refused, alone []string
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		settled := settlementIn(request)
		switch {
		case settled.Claim == nil:
		case len(settled.Acks) > 0:
			refused = append(refused, *settled.Claim.ClaimID)
			return refusing(request, 400, "invalid_request"), nil
		default:
			alone = append(alone, *settled.Claim.ClaimID)
		}
		return nil, nil
	})
	jobs := finishWith(t, fake, client, &dibs.Worker{NoSession: true, Concurrency: 2, Handler: succeeds})
	for _, job := range jobs {
		if job.State != "completed" || job.Deliveries != 1 {
			t.Errorf("got %+v", job)
		}
	}
	for _, id := range refused {
		if !slices.Contains(alone, id) {
			t.Errorf("the claim %s was given up", id)
		}
	}
	if len(refused) == 0 {
		t.Error("no settlement had a claim with it")
	}
}

func TestALostAnswerAfterARefusedSettlementCostsNoLease(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 2)
	transport := fake.Client().HTTP.Transport
	var mu sync.Mutex
	var refused string
	isLost := false
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		settled := settlementIn(request)
		switch {
		case settled.Claim == nil:
		case refused == "" && len(settled.Acks) > 0:
			refused = *settled.Claim.ClaimID
			return refusing(request, 400, "invalid_request"), nil
		case !isLost && *settled.Claim.ClaimID == refused:
			isLost = true
			_, _ = transport.RoundTrip(request)
			return nil, errors.New("it broke")
		}
		return nil, nil
	})
	jobs := finishWith(t, fake, client, &dibs.Worker{NoSession: true, Concurrency: 1, Handler: succeeds})
	if !isLost || jobs[1].Deliveries != 1 {
		t.Errorf("an answer was lost: %v; got %+v", isLost, jobs[1])
	}
}

func TestAClaimThatWasAnsweredIsNotSentAgain(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	var mu sync.Mutex
	var answered string
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		settled := settlementIn(request)
		switch {
		case settled.Claim == nil:
		case answered == *settled.Claim.ClaimID:
			t.Error("it was sent again")
		case answered == "" && len(settled.Acks) > 0:
			answered = *settled.Claim.ClaimID
			return answer(request, 200, nil, string(asJSON(map[string]any{
				"acks": []dibs.SettleResult{{ID: settled.Acks[0].ID, Status: 400, Problem: problem(400, "invalid_request")}},
				"jobs": []dibs.LeasedJob{},
			}))), nil
		}
		return nil, nil
	})
	jobs := finishWith(t, fake, client, &dibs.Worker{NoSession: true, Concurrency: 1, Handler: succeeds})
	if !strings.Contains(jobs[0].Error, "the ack was refused") {
		t.Errorf("got %+v", jobs[0])
	}
}
