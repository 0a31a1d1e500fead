// A job's whole life through the client that OpenAPI Generator writes for Go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	dibs "example.com/queue/dibs"
)

const queue = "sdk.go"

func check(holds bool, what string) {
	if !holds {
		panic("not so: " + what)
	}
}

// must answers what a call answered, and ends the cycle when it was refused.
func must[T any](answer T, _ any, err error) T {
	if err != nil {
		var refused *dibs.GenericOpenAPIError
		if errors.As(err, &refused) {
			panic(string(refused.Body()))
		}
		panic(err)
	}
	return answer
}

// problemOf answers the problem that a call was refused with.
func problemOf(err error) dibs.Problem {
	var refused *dibs.GenericOpenAPIError
	check(errors.As(err, &refused), "the call is refused")
	problem, typed := refused.Model().(dibs.Problem)
	check(typed, "the refusal is a Problem")
	return problem
}

func main() {
	ctx := context.Background()
	configuration := dibs.NewConfiguration()
	configuration.Servers = dibs.ServerConfigurations{{URL: os.Args[1]}}
	client := dibs.NewAPIClient(configuration)
	producing, consuming, jobs, queues := client.ProducingAPI, client.ConsumingAPI, client.JobsAPI, client.QueuesAPI
	batches := client.BatchesAPI
	payload := map[string]any{"text": "Grüße", "list": []any{1.0, 2.5, nil}}

	kind := dibs.CONSTANT
	configured := must(queues.ConfigureQueue(ctx, queue).QueueConfig(dibs.QueueConfig{
		LeaseSeconds: dibs.PtrFloat64(60),
		Backoff:      &dibs.Backoff{Kind: &kind, BaseSeconds: dibs.PtrFloat64(0.25)},
	}).Execute())
	check(configured.Config.GetLeaseSeconds() == 60, "the lease is configured")
	check(*configured.Config.Backoff.Kind == dibs.CONSTANT, "the backoff is configured")
	check(configured.OldestReadyAgeSeconds.Get() == nil, "no job waits")

	job := must(producing.EnqueueJob(ctx).JobSpec(dibs.JobSpec{
		Queue:    dibs.PtrString(queue),
		Payload:  payload,
		Headers:  map[string]string{"tenant": "a"},
		Priority: dibs.PtrInt32(5),
	}).Execute())
	check(job.State == dibs.READY && job.Priority == 5 && job.LeaseExpiresAt.Get() == nil, "the job is ready")
	specs := []dibs.JobSpec{}
	for i := range 3 {
		specs = append(specs, dibs.JobSpec{Queue: dibs.PtrString(queue), Payload: i})
	}
	batch := must(producing.EnqueueJobs(ctx).JobSpecList(*dibs.NewJobSpecList(specs)).Execute())
	check(len(batch.Jobs) == 3, "the batch is enqueued")

	check(must(queues.PauseQueue(ctx, queue).Execute()).Paused, "the queue is paused")
	check(!must(queues.ResumeQueue(ctx, queue).Execute()).Paused, "the queue is resumed")
	check(must(queues.GetQueue(ctx, queue).Execute()).Counts.Ready == 4, "four jobs are ready")
	check(len(must(queues.ListQueues(ctx).Limit(10).Execute()).Queues) > 0, "the queue is listed")

	claimed := must(consuming.ClaimJobs(ctx).ClaimRequest(dibs.ClaimRequest{
		Queues: []string{queue},
		Limit:  dibs.PtrInt32(4),
		Worker: dibs.PtrString("go"),
	}).Execute()).Jobs
	check(len(claimed) == 4, "four jobs are claimed")
	first, second, third, fourth := claimed[0], claimed[1], claimed[2], claimed[3]
	check(first.Id == job.Id && reflect.DeepEqual(first.Payload, any(payload)), "the payload comes back")
	check(first.Headers["tenant"] == "a", "the headers come back")
	check(first.LeaseExpiresAt.After(time.Now()), "the lease runs")

	extended := must(consuming.ExtendLease(ctx, first.Id).ExtendRequest(dibs.ExtendRequest{
		LeaseToken:   first.LeaseToken,
		LeaseSeconds: 120,
		Progress:     map[string]any{"done": 1},
	}).Execute())
	check(extended.LeaseExpiresAt.After(first.LeaseExpiresAt), "the lease is extended")
	looked := must(jobs.GetJob(ctx, first.Id).Execute())
	check(looked.State == dibs.LEASED && looked.Progress.(map[string]any)["done"] == 1.0, "the progress is seen")

	acked := must(consuming.AckJob(ctx, first.Id).AckRequest(dibs.AckRequest{
		LeaseToken: first.LeaseToken,
		Result:     []bool{true},
	}).Execute())
	check(acked.State == dibs.COMPLETED, "the first job is done")
	nacked := must(consuming.NackJob(ctx, second.Id).NackRequest(dibs.NackRequest{
		LeaseToken:   second.LeaseToken,
		Error:        dibs.PtrString("no luck"),
		DelaySeconds: dibs.PtrFloat64(3600),
	}).Execute())
	check(nacked.State == dibs.SCHEDULED && *nacked.LastError.Get() == "no luck", "the second job rests")
	settled := must(consuming.SettleJobs(ctx).SettleRequest(dibs.SettleRequest{
		Acks: []dibs.AckItem{
			{Id: third.Id, LeaseToken: third.LeaseToken},
			{Id: fourth.Id, LeaseToken: "stale"},
		},
		Nacks: []dibs.NackItem{{Id: fourth.Id, LeaseToken: fourth.LeaseToken, Retry: dibs.PtrBool(false)}},
	}).Execute())
	check(settled.Acks[0].Status == 200 && settled.Acks[1].Problem.Code == "lease_lost", "one of two acks counts")
	check(*settled.Nacks[0].State == dibs.DEAD, "the fourth job is dead")

	page := must(jobs.ListJobs(ctx).Queue(queue).State(dibs.DEAD).Include("payload").Execute())
	check(len(page.Jobs) == 1 && page.Jobs[0].Payload == 2.0 && page.NextCursor.Get() == nil, "the dead job is listed")

	opened := must(batches.CreateBatch(ctx).BatchSpec(dibs.BatchSpec{
		Queue:     queue,
		OnSuccess: &dibs.JobSpec{Queue: dibs.PtrString(queue), Payload: "all done"},
	}).Execute())
	check(opened.State == dibs.OPEN && opened.Followers[0] == dibs.ON_SUCCESS, "the batch is open")
	member := must(producing.EnqueueJob(ctx).JobSpec(dibs.JobSpec{
		Queue: dibs.PtrString(queue),
		Batch: dibs.PtrString(opened.Id),
	}).Execute())
	check(*member.Batch.Get() == opened.Id, "the job is in the batch")
	check(must(batches.CloseBatch(ctx, opened.Id).Execute()).State == dibs.RUNNING, "the batch is closed")
	request := dibs.ClaimRequest{Queues: []string{queue}}
	leased := must(consuming.ClaimJobs(ctx).ClaimRequest(request).Execute()).Jobs[0]
	check(leased.Id == member.Id, "the job of the batch is claimed")
	ack := dibs.AckRequest{LeaseToken: leased.LeaseToken}
	must(consuming.AckJob(ctx, leased.Id).AckRequest(ack).Execute())
	ended := must(batches.GetBatch(ctx, opened.Id).Execute())
	check(ended.State == dibs.SUCCEEDED && ended.Counts.Completed == 1, "the batch has succeeded")
	ready := must(jobs.ListJobs(ctx).Queue(queue).State(dibs.READY).Include("payload").Execute()).Jobs
	check(len(ready) == 1 && ready[0].Payload == "all done", "the follower is enqueued")

	_, _, err := jobs.GetJob(ctx, first.Id).Execute()
	gone := problemOf(err)
	check(gone.Status == 404 && gone.Code == "job_not_found", "the first job is gone")
	now := time.Now()
	_, _, err = producing.EnqueueJob(ctx).JobSpec(dibs.JobSpec{
		DelaySeconds: dibs.PtrFloat64(1),
		RunAt:        &now,
	}).Execute()
	wrong := problemOf(err)
	check(wrong.Code == "invalid_request" && wrong.Errors[0].Path == "/run_at", "two times are one too many")

	fmt.Println("the cycle is done")
}
