package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"dibs.example/dibs"
)

type script struct {
	Ms           float64         `json:"ms"`
	IgnoreSignal bool            `json:"ignore_signal"`
	Fail         *string         `json:"fail"`
	Dead         bool            `json:"dead"`
	DelaySeconds *float64        `json:"delay_seconds"`
	Release      bool            `json:"release"`
	Result       json.RawMessage `json:"result"`
	LargeResult  int             `json:"large_result"`
	Progress     []any           `json:"progress"`
	FollowUp     *dibs.JobSpec   `json:"follow_up"`
	InBatch      *dibs.JobSpec   `json:"in_batch"`
	Stop         string          `json:"stop"`
	Odd          string          `json:"odd"`
	Causes       []string        `json:"causes"`
	Circle       bool            `json:"circle"`
}

// caused is an error that says nothing of its cause itself.
type caused struct {
	text  string
	cause error
}

func (c *caused) Error() string { return c.text }
func (c *caused) Unwrap() error { return c.cause }

func (s script) failure() error {
	top := &caused{text: *s.Fail}
	inner := top
	for _, text := range s.Causes {
		next := &caused{text: text}
		inner.cause, inner = next, next
	}
	if s.Circle {
		inner.cause = top
	}
	return top
}

// handle does what the payload says.
func handle(ctx context.Context, worker *dibs.Worker, as string, job *dibs.Work) error {
	s := script{}
	if strings.Contains(job.Text, "undecodable") {
		return errors.New("the payload cannot be decoded")
	}
	if err := job.Decode(&s); err != nil {
		return err
	}
	say(map[string]any{
		"event": "started", "as": as, "id": job.ID, "attempt": job.Attempt, "deliveries": job.Deliveries,
		"headers": job.Headers, "payload_text": job.Text, "progress": job.Progress,
	})
	defer say(map[string]any{"event": "finished", "as": as, "id": job.ID})
	if s.Stop == "wait" {
		worker.Stop()
	} else if s.Stop == "ask" {
		go worker.Stop()
	}
	return play(ctx, job, s)
}

func play(ctx context.Context, job *dibs.Work, s script) error {
	for _, value := range s.Progress {
		if err := job.Report(value); err != nil {
			return err
		}
	}
	end := ctx.Done()
	if s.IgnoreSignal {
		end = nil
	}
	select {
	case <-end:
		return context.Cause(ctx)
	case <-time.After(time.Duration(s.Ms * float64(time.Millisecond))):
	}
	if s.Odd != "" {
		return oddEnds[s.Odd](job)
	}
	delay := time.Duration(0)
	if s.DelaySeconds != nil {
		delay = seconds(*s.DelaySeconds)
	}
	switch {
	case s.Fail != nil && s.Dead:
		return dibs.Dead(s.failure())
	case s.Fail != nil && s.DelaySeconds != nil:
		return dibs.RetryIn(delay, s.failure())
	case s.Fail != nil:
		return s.failure()
	case s.Release:
		return &dibs.Release{Delay: delay}
	}
	if s.LargeResult > 0 {
		job.SetResult(strings.Repeat("x", s.LargeResult))
	} else if s.Result != nil {
		job.SetResult(s.Result)
	}
	if s.FollowUp != nil {
		job.FollowUp(*s.FollowUp)
	}
	if s.InBatch != nil {
		s.InBatch.Batch = job.Batch
		job.FollowUp(*s.InBatch)
	}
	return nil
}
