package dibstest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dibs.example/dibs"
)

func (f *Fake) enqueue(spec dibs.JobSpec) dibs.Job {
	job := &Job{
		ID: fmt.Sprintf("job-%d", len(f.jobs)+1), Queue: "default", State: "ready", Payload: spec.Payload, Headers: spec.Headers,
		Batch: spec.Batch,
	}
	if spec.Queue != nil {
		job.Queue = *spec.Queue
	}
	if job.Payload == nil {
		job.Payload = []byte("null")
	}
	if job.Headers == nil {
		job.Headers = map[string]string{}
	}
	f.jobs = append(f.jobs, job)
	return dibs.Job{ID: job.ID, Queue: job.Queue, State: job.State, Headers: job.Headers, MaxAttempts: mostAttempts, Batch: job.Batch}
}

// enqueueAll: a job of the batch own adds them, if there is one.
func (f *Fake) enqueueAll(specs []dibs.JobSpec, own *string) ([]dibs.Job, *dibs.Problem) {
	if refused := f.hold(specs, own); refused != nil {
		return nil, refused
	}
	jobs := []dibs.Job{}
	for _, spec := range specs {
		jobs = append(jobs, f.enqueue(spec))
	}
	return jobs, nil
}

// claim waits for a first job. A repeat gets what the first request got. If that still waits, it is answered without jobs.
func (f *Fake) claim(ctx context.Context, request dibs.ClaimRequest) []dibs.LeasedJob {
	wait, limit, queues := time.Duration(0), 1, request.Queues
	if request.WaitSeconds != nil {
		wait = time.Duration(min(*request.WaitSeconds, 60) * float64(time.Second))
	}
	if request.Limit != nil {
		limit = int(*request.Limit)
	}
	if len(queues) == 0 {
		queues = []string{"default"}
	}
	turn, claimID := 0, ""
	if request.ClaimID != nil {
		claimID = *request.ClaimID
		f.claims[claimID]++
		turn = f.claims[claimID]
		f.change()
		if got := f.claimedBy(claimID); len(got) > 0 {
			return got
		}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	leased := []dibs.LeasedJob{}
	for isTimeUp := false; ; {
		if f.claims[claimID] != turn {
			return leased
		}
		for _, queue := range queues {
			for _, job := range f.jobs {
				if len(leased) < limit && job.State == "ready" && job.Queue == queue {
					leased = append(leased, f.lease(job, claimID))
				}
			}
		}
		if len(leased) > 0 || isTimeUp || ctx.Err() != nil {
			return leased
		}
		isTimeUp = !f.wait(ctx, timer.C)
	}
}

func (f *Fake) claimedBy(claimID string) []dibs.LeasedJob {
	leased := []dibs.LeasedJob{}
	for _, job := range f.jobs {
		if job.State == "leased" && job.claimID == claimID {
			leased = append(leased, job.lease())
		}
	}
	return leased
}

func (f *Fake) lease(job *Job, claimID string) dibs.LeasedJob {
	job.State = "leased"
	job.Attempt++
	job.Deliveries++
	job.token, job.claimID = fmt.Sprintf("%s-%d", job.ID, job.Deliveries), claimID
	return job.lease()
}

func (f *Fake) settle(ctx context.Context, request dibs.SettleRequest) dibs.SettleResults {
	results := dibs.SettleResults{}
	for _, item := range request.Acks {
		ack := func(job *Job) *dibs.Problem { return f.ack(job, item) }
		results.Acks = append(results.Acks, f.settled(item.ID, item.LeaseToken, ack))
	}
	for _, item := range request.Nacks {
		nack := func(job *Job) *dibs.Problem { return f.nack(job, item) }
		results.Nacks = append(results.Nacks, f.settled(item.ID, item.LeaseToken, nack))
	}
	for _, item := range request.Releases {
		results.Releases = append(results.Releases, f.settled(item.ID, item.LeaseToken, func(job *Job) *dibs.Problem {
			job.State = "ready"
			job.Attempt--
			return nil
		}))
	}
	for _, item := range request.Extends {
		results.Extends = append(results.Extends, f.settled(item.ID, item.LeaseToken, func(*Job) *dibs.Problem { return nil }))
	}
	f.change()
	if request.Claim != nil {
		results.Jobs = f.claim(ctx, *request.Claim)
	}
	return results
}

func (f *Fake) ack(job *Job, item dibs.AckItem) *dibs.Problem {
	if _, refused := f.enqueueAll(item.Enqueue, job.Batch); refused != nil {
		return refused
	}
	job.State = "completed"
	job.Result = item.Result
	return nil
}

func (f *Fake) nack(job *Job, item dibs.NackItem) *dibs.Problem {
	state := "ready"
	if job.Attempt >= mostAttempts || (item.Retry != nil && !*item.Retry) {
		state = "dead"
		if _, refused := f.enqueueAll(item.Enqueue, job.Batch); refused != nil {
			return refused
		}
	}
	if item.Error != nil {
		job.Error = *item.Error
	}
	job.State = state
	return nil
}

func (f *Fake) extend(id string, request dibs.ExtendRequest) dibs.SettleResult {
	defer f.change()
	return f.settled(id, request.LeaseToken, func(job *Job) *dibs.Problem {
		if request.Progress != nil {
			job.Progress = request.Progress
		}
		return nil
	})
}

func (f *Fake) settled(id, token string, change func(*Job) *dibs.Problem) dibs.SettleResult {
	i := slices.IndexFunc(f.jobs, func(job *Job) bool { return job.ID == id && job.State == "leased" && job.token == token })
	refused := refusal(409, "lease_lost", "The lease is lost.")
	if i >= 0 {
		refused = change(f.jobs[i])
	}
	if refused != nil {
		return dibs.SettleResult{ID: id, Status: refused.Status, Problem: refused}
	}
	return dibs.SettleResult{ID: id, Status: 200, State: dibs.Ptr(f.jobs[i].State), CancelRequested: dibs.Ptr(false)}
}
