// Package dibstest is for unit tests of handlers, producers and workers: jobs that are made up, and a Dibs in memory.
package dibstest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"dibs.example/dibs"
)

const mostAttempts = 5

// Work makes up a job, as a worker would give it to a handler. Its fields may be set.
//
//	err := handler(ctx, dibstest.Work(Mail{To: "ada@example.com"}))
func Work(payload any) *dibs.Work {
	text := encoded(payload)
	job := Job{ID: "job-1", Queue: "default", State: "leased", Payload: text, Attempt: 1, Deliveries: 1}
	return &dibs.Work{LeasedJob: job.lease(), Text: string(text)}
}

func encoded(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// Job is a job of a Fake.
type Job struct {
	ID      string
	Queue   string
	State   dibs.JobState
	Payload json.RawMessage
	Headers map[string]string
	// Batch is the id of its batch, or nil.
	Batch *string
	// Attempt counts those that are charged, Deliveries all leases.
	Attempt, Deliveries int64
	Result, Progress    json.RawMessage
	Error               string
	token, claimID      string
}

func (j *Job) lease() dibs.LeasedJob {
	lease := dibs.LeasedJob{
		ID: j.ID, Queue: j.Queue, State: "leased", Headers: j.Headers, Attempt: j.Attempt, MaxAttempts: mostAttempts,
		Deliveries: j.Deliveries, PayloadText: dibs.Ptr(string(j.Payload)), Progress: j.Progress, LeaseToken: j.token,
		LeaseSeconds: 30, Batch: j.Batch,
	}
	if j.Error != "" {
		lease.LastError = dibs.Ptr(j.Error)
	}
	return lease
}

// Fake is a Dibs in memory, without delays, limits, sessions and leases that end. A failed job comes back at once, until it had five attempts.
type Fake struct {
	mu      sync.Mutex
	jobs    []*Job
	batches []*batch
	// The newest request of each claim, by its id.
	claims map[string]int
	// Closed, and made anew, at each change.
	changed chan struct{}
}

// New makes a Fake without jobs.
func New() *Fake { return &Fake{claims: map[string]int{}, changed: make(chan struct{})} }

// Jobs are those of the queue, the finished ones too. Without a queue: all.
func (f *Fake) Jobs(queue string) []Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	jobs := []Job{}
	for _, job := range f.jobs {
		if queue == "" || job.Queue == queue {
			jobs = append(jobs, *job)
		}
	}
	return jobs
}

func isFinished(state dibs.JobState) bool {
	return state == "completed" || state == "dead" || state == "cancelled"
}

// WaitUntilDone returns when each job is completed or dead, or an error when ctx ends before that.
func (f *Fake) WaitUntilDone(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		open := slices.IndexFunc(f.jobs, func(job *Job) bool { return !isFinished(job.State) })
		if open < 0 {
			return nil
		}
		if !f.wait(ctx, nil) {
			return fmt.Errorf("dibstest: %s of queue %s is %s: %w", f.jobs[open].ID, f.jobs[open].Queue, f.jobs[open].State, ctx.Err())
		}
	}
}

// wait gives the lock away until something changes; false when ctx ends, or the time comes, before that.
func (f *Fake) wait(ctx context.Context, at <-chan time.Time) bool {
	changed := f.changed
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-changed:
		return true
	case <-at:
	case <-ctx.Done():
	}
	return false
}

func (f *Fake) change() {
	f.follow()
	close(f.changed)
	f.changed = make(chan struct{})
}
