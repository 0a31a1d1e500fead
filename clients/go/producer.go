package dibs

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// Producer enqueues jobs. A request that failed for a while is repeated, and counts once.
type Producer struct {
	Client *Client
	// Retry is for how long a request is repeated at 429, 503 and broken connections. Default: 30 s.
	Retry time.Duration
	// Headers for each job, such as a traceparent. The job's own go first.
	Headers func() map[string]string
}

// Enqueue makes a job.
func (p *Producer) Enqueue(ctx context.Context, job JobSpec) (*Job, error) {
	options := &EnqueueJobOptions{IdempotencyKey: Ptr(newID())}
	job = p.spec(job)
	return repeat(ctx, p.Retry, func() (*Job, error) { return p.Client.EnqueueJob(ctx, job, options) })
}

// EnqueueAll makes up to 1000 jobs: all of them or, when one is refused, none.
func (p *Producer) EnqueueAll(ctx context.Context, jobs []JobSpec) ([]Job, error) {
	options := &EnqueueJobsOptions{IdempotencyKey: Ptr(newID())}
	specs := make([]JobSpec, len(jobs))
	for i, job := range jobs {
		specs[i] = p.spec(job)
	}
	list, err := repeat(ctx, p.Retry, func() (*JobList, error) {
		return p.Client.EnqueueJobs(ctx, JobSpecList{Jobs: specs}, options)
	})
	if err != nil {
		return nil, err
	}
	return list.Jobs, nil
}

func (p *Producer) spec(job JobSpec) JobSpec {
	if p.Headers == nil {
		return job
	}
	// A map of its own: what Headers returns may serve other jobs, too.
	headers := map[string]string{}
	maps.Copy(headers, p.Headers())
	maps.Copy(headers, job.Headers)
	job.Headers = headers
	return job
}

func repeat[T any](ctx context.Context, within time.Duration, send func() (T, error)) (T, error) {
	end := time.Now().Add(orDefault(within, 30*time.Second))
	for failures := 0; ; failures++ {
		answer, err := send()
		pause := backoff(failures, err)
		if err == nil || !IsTemporary(err) || time.Now().Add(pause).After(end) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, fmt.Errorf("%w; before that: %w", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}
