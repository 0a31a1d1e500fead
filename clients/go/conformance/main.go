// The driver of the Go library for the conformance suite. See clients/conformance/README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"dibs.example/dibs"
)

var out sync.Mutex

func say(event map[string]any) {
	out.Lock()
	defer out.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(event)
}

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
	delay := time.Duration(0)
	if s.DelaySeconds != nil {
		delay = time.Duration(*s.DelaySeconds * float64(time.Second))
	}
	switch {
	case s.Fail != nil && s.Dead:
		return dibs.Dead(errors.New(*s.Fail))
	case s.Fail != nil && s.DelaySeconds != nil:
		return dibs.RetryIn(delay, errors.New(*s.Fail))
	case s.Fail != nil:
		return errors.New(*s.Fail)
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
	return nil
}

func codeOf(err error) string {
	var refusal *dibs.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return err.Error()
}

type command struct {
	Do           string         `json:"do"`
	As           string         `json:"as"`
	URL          string         `json:"url"`
	Queues       []string       `json:"queues"`
	Concurrency  int            `json:"concurrency"`
	LeaseSeconds float64        `json:"lease_seconds"`
	WaitSeconds  float64        `json:"wait_seconds"`
	StopSeconds  float64        `json:"stop_seconds"`
	Name         string         `json:"name"`
	Seconds      *float64       `json:"seconds"`
	Jobs         []dibs.JobSpec `json:"jobs"`
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func start(c command) *dibs.Worker {
	worker := &dibs.Worker{
		Client:      &dibs.Client{URL: c.URL},
		Queues:      c.Queues,
		Concurrency: c.Concurrency,
		Lease:       seconds(c.LeaseSeconds),
		Wait:        seconds(c.WaitSeconds),
		StopAfter:   seconds(c.StopSeconds),
		Name:        c.Name,
		Observe: func(event dibs.Event) {
			if event.Type == "signalled" {
				say(map[string]any{"event": "signal", "as": c.As, "id": event.Job.ID, "code": event.Err.Error()})
			}
		},
		Handler: func(ctx context.Context, job *dibs.Work) error {
			s := script{}
			if strings.Contains(job.Text, "undecodable") {
				return errors.New("the payload cannot be decoded")
			}
			if err := job.Decode(&s); err != nil {
				return err
			}
			say(map[string]any{
				"event": "started", "as": c.As, "id": job.ID, "attempt": job.Attempt, "deliveries": job.Deliveries,
				"headers": job.Headers, "payload_text": job.Text, "progress": job.Progress,
			})
			defer say(map[string]any{"event": "finished", "as": c.As, "id": job.ID})
			return play(ctx, job, s)
		},
	}
	go func() {
		if err := worker.Run(context.Background()); err != nil {
			say(map[string]any{"event": "failed", "as": c.As, "code": codeOf(err)})
		} else {
			say(map[string]any{"event": "stopped", "as": c.As})
		}
	}()
	return worker
}

func enqueue(c command) {
	producer := &dibs.Producer{Client: &dibs.Client{URL: c.URL}, Retry: 10 * time.Second}
	ctx := context.Background()
	var jobs []dibs.Job
	var err error
	if len(c.Jobs) == 1 {
		var job *dibs.Job
		if job, err = producer.Enqueue(ctx, c.Jobs[0]); err == nil {
			jobs = []dibs.Job{*job}
		}
	} else {
		jobs, err = producer.EnqueueAll(ctx, c.Jobs)
	}
	if err != nil {
		say(map[string]any{"event": "failed", "as": c.As, "code": codeOf(err)})
		return
	}
	ids := []string{}
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	say(map[string]any{"event": "enqueued", "as": c.As, "ids": ids})
}

func main() {
	workers := map[string]*dibs.Worker{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		switch c.Do {
		case "start":
			workers[c.As] = start(c)
		case "enqueue":
			go enqueue(c)
		case "stop":
			if worker := workers[c.As]; c.Seconds == nil {
				go worker.Stop()
			} else {
				go worker.StopWithin(seconds(*c.Seconds))
			}
		}
	}
}
