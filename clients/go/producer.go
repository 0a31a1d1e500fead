package dibs

import (
	"context"
	"errors"
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
	return repeat(ctx, p.Retry, func() (*Job, error) {
		made, err := p.Client.EnqueueJob(ctx, job, options)
		if err == nil && made.ID == "" {
			err = errNoJob
		}
		return made, err
	})
}

// mostJobs is how many jobs one request has, at most.
const mostJobs = 1000

// EnqueueAll makes jobs: all of them or, when one is refused, none. That is so for up to 1000, which go in one request. More go in
// several, each all or none.
func (p *Producer) EnqueueAll(ctx context.Context, jobs []JobSpec) ([]Job, error) {
	specs := p.specs(jobs)
	key := newID()
	all := make([]Job, 0, len(specs))
	for at := 0; at < len(specs); at += mostJobs {
		some, err := p.enqueueSome(ctx, specs[at:min(at+mostJobs, len(specs))], fmt.Sprintf("%s-%d", key, at))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (p *Producer) enqueueSome(ctx context.Context, specs []JobSpec, key string) ([]Job, error) {
	options := &EnqueueJobsOptions{IdempotencyKey: &key}
	list, err := repeat(ctx, p.Retry, func() (*JobList, error) {
		made, err := p.Client.EnqueueJobs(ctx, JobSpecList{Jobs: specs}, options)
		if err == nil && len(made.Jobs) != len(specs) {
			err = errNoJob
		}
		return made, err
	})
	if err != nil {
		return nil, err
	}
	return list.Jobs, nil
}

// errNoJob: something before Dibs has answered. The job may be there or not.
var errNoJob = &ConnectionError{errors.New("the answer of an enqueue is not of Dibs: it has no job")}

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

func (p *Producer) specs(jobs []JobSpec) []JobSpec {
	specs := make([]JobSpec, len(jobs))
	for i, job := range jobs {
		specs[i] = p.spec(job)
	}
	return specs
}

const defaultRetry = 30 * time.Second

func repeat[T any](ctx context.Context, within time.Duration, send func() (T, error)) (T, error) {
	if within < 0 {
		var none T
		return none, errors.New("dibs: Retry must not be negative")
	}
	end := time.Now().Add(orDefault(within, defaultRetry))
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
