package dibs_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

func isProgress(request *http.Request) bool { return strings.HasSuffix(request.URL.Path, "/extend") }

func TestProgressThatCannotBeSentIsNoHurry(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	var tries atomic.Int32
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		if !isProgress(request) {
			return nil, nil
		}
		tries.Add(1)
		return nil, errors.New("it broke")
	})
	worker := &dibs.Worker{Client: client, Queues: []string{"mail"}, NoSession: true}
	worker.Handler = func(_ context.Context, job *dibs.Work) error { return job.Report(50) }
	began := time.Now()
	ended := run(worker)
	eventually(t, "progress", func() bool { return tries.Load() > 0 })
	time.Sleep(time.Second)
	// It is sent about 5 times in 2 s.
	if most := 50 * (1 + time.Since(began)/time.Second); time.Duration(tries.Load()) > most {
		t.Errorf("it was sent %d times", tries.Load())
	}
	worker.StopWithin(0)
	await(t, ended, "the end of Run")
}

func TestProgressWhoseAnswerIsNotOfDibsIsSentAgain(t *testing.T) {
	for _, body := range []string{"{}", "null", `{"status": "ok"}`} {
		fake := dibstest.New()
		enqueue(t, fake, 1)
		var tries atomic.Int32
		client := before(fake, func(request *http.Request) (*http.Response, error) {
			if isProgress(request) && tries.Add(1) == 1 {
				return answer(request, 200, nil, body), nil
			}
			return nil, nil
		})
		jobs := finishWith(t, fake, client, &dibs.Worker{Handler: func(_ context.Context, job *dibs.Work) error { return job.Report(50) }})
		if string(jobs[0].Progress) != "50" || jobs[0].State != "completed" {
			t.Errorf("%s: got %+v", body, jobs[0])
		}
	}
}

func TestAnExtendWhoseAnswerIsNotOfDibsIsSentAgainAndTold(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	var claims, extends atomic.Int32
	client := before(fake, func(request *http.Request) (*http.Response, error) {
		switch {
		case strings.HasSuffix(request.URL.Path, "/claim") && claims.Add(1) == 1:
			return nil, errors.New("it broke") // The lease of the repeat is doubtful: it is extended first.
		case strings.HasSuffix(request.URL.Path, "/settle") && extends.Add(1) == 1:
			return answer(request, 200, nil, "{}"), nil
		}
		return nil, nil
	})
	told := make(chan error, 10)
	finishWith(t, fake, client, &dibs.Worker{Handler: func(context.Context, *dibs.Work) error { return nil }, Observe: func(event dibs.Event) {
		if event.Request == "extend" {
			told <- event.Err
		}
	}})
	if err := await(t, told, "the failure of the extend"); !dibs.IsTemporary(err) || extends.Load() < 3 {
		t.Errorf("got %v, after %d settlements and extends", err, extends.Load())
	}
}
