package dibs_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

func TestAFollowUpIsAsItWasWhenTheHandlerGaveIt(t *testing.T) {
	for name, end := range map[string]func(*dibs.Work, dibs.JobSpec) error{
		"of an ack": func(job *dibs.Work, followUp dibs.JobSpec) error {
			job.FollowUp(followUp)
			return nil
		},
		"of a nack": func(_ *dibs.Work, followUp dibs.JobSpec) error {
			return &dibs.Nack{Err: errors.New("wrong"), Dead: true, FollowUps: []dibs.JobSpec{followUp}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := dibstest.New()
			enqueue(t, fake, 1)
			followUp := dibs.JobSpec{Queue: dibs.Ptr("next"), Payload: []byte("1"), Headers: map[string]string{"tenant": "acme"}}
			var settlements atomic.Int32
			client := before(fake, func(request *http.Request) (*http.Response, error) {
				if strings.HasSuffix(request.URL.Path, "/settle") && settlements.Add(1) == 1 {
					// The handler's buffers are used again, and the settlement is sent again.
					followUp.Payload[0], followUp.Headers["tenant"] = '2', "another"
					return nil, errors.New("it broke")
				}
				return nil, nil
			})
			worker := &dibs.Worker{Handler: func(_ context.Context, job *dibs.Work) error { return end(job, followUp) }}
			worker.Client = client
			worker.Queues = []string{"mail"}
			ended := run(worker)
			eventually(t, "the follow-up", func() bool { return len(fake.Jobs("next")) == 1 })
			worker.Stop()
			if err := await(t, ended, "the end of Run"); err != nil {
				t.Fatal(err)
			}
			if next := fake.Jobs("next")[0]; string(next.Payload) != "1" || next.Headers["tenant"] != "acme" {
				t.Errorf("got %+v", next)
			}
		})
	}
}

func TestALineNamesTheJobThatDibsGaveThoughItsHandlerWritesIntoIt(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	var log bytes.Buffer
	finish(t, fake, &dibs.Worker{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Handler: func(_ context.Context, job *dibs.Work) error {
			job.ID, job.Queue, job.Attempt, job.MaxAttempts = "mine", "mine", 7, 7
			return dibs.Dead(errors.New("wrong"))
		},
	})
	if line := log.String(); !strings.Contains(line, "job=job-1 queue=mail attempt=1 max_attempts=5") {
		t.Errorf("got %s", line)
	}
}
