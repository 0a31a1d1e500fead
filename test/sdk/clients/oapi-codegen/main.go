// A job's whole life through the client that oapi-codegen writes for Go.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"time"

	"example.com/cycle/dibs"
)

const queue = "sdk.oapi-codegen"

func check(holds bool, what string) {
	if !holds {
		panic("not so: " + what)
	}
}

// must answers what a call answered, and ends the cycle when it was refused.
func must[T any](answer T, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func ptr[T any](value T) *T { return &value }

func main() {
	ctx := context.Background()
	client := must(dibs.NewClientWithResponses(os.Args[1]))
	payload := map[string]any{"text": "Grüße", "list": []any{1.0, 2.5, nil}}

	configured := must(client.ConfigureQueueWithResponse(ctx, queue, dibs.QueueConfig{
		LeaseSeconds: ptr(60.0),
		Backoff:      &dibs.Backoff{Kind: ptr(dibs.Constant), BaseSeconds: ptr(0.25)},
	})).JSON200
	check(*configured.Config.LeaseSeconds == 60, "the lease is configured")
	check(*configured.Config.Backoff.Kind == dibs.Constant, "the backoff is configured")
	check(configured.OldestReadyAgeSeconds == nil, "no job waits")

	job := must(client.EnqueueJobWithResponse(ctx, nil, dibs.JobSpec{
		Queue:    ptr(queue),
		Payload:  payload,
		Headers:  &dibs.JobHeaders{"tenant": "a"},
		Priority: ptr(5),
	})).JSON201
	check(job.State == dibs.JobStateReady && job.Priority == 5 && job.LeaseExpiresAt == nil, "the job is ready")
	specs := []dibs.JobSpec{}
	for i := range 3 {
		specs = append(specs, dibs.JobSpec{Queue: ptr(queue), Payload: i})
	}
	batch := must(client.EnqueueJobsWithResponse(ctx, nil, dibs.JobSpecList{Jobs: specs})).JSON201
	check(len(batch.Jobs) == 3, "the batch is enqueued")

	check(must(client.PauseQueueWithResponse(ctx, queue)).JSON200.Paused, "the queue is paused")
	check(!must(client.ResumeQueueWithResponse(ctx, queue)).JSON200.Paused, "the queue is resumed")
	check(must(client.GetQueueWithResponse(ctx, queue)).JSON200.Counts.Ready == 4, "four jobs are ready")
	listed := must(client.ListQueuesWithResponse(ctx, &dibs.ListQueuesParams{Limit: ptr(10)})).JSON200
	check(len(listed.Queues) > 0, "the queue is listed")

	claimed := must(client.ClaimJobsWithResponse(ctx, dibs.ClaimRequest{
		Queues: &[]string{queue},
		Limit:  ptr(4),
		Worker: ptr("oapi-codegen"),
	})).JSON200.Jobs
	check(len(claimed) == 4, "four jobs are claimed")
	first, second, third, fourth := claimed[0], claimed[1], claimed[2], claimed[3]
	check(first.Id == job.Id && reflect.DeepEqual(first.Payload, any(payload)), "the payload comes back")
	check(first.Headers["tenant"] == "a", "the headers come back")
	check(first.LeaseExpiresAt.After(time.Now()), "the lease runs")

	extended := must(client.ExtendLeaseWithResponse(ctx, first.Id, dibs.ExtendRequest{
		LeaseToken:   first.LeaseToken,
		LeaseSeconds: 120,
		Progress:     map[string]any{"done": 1},
	})).JSON200
	check(extended.LeaseExpiresAt.After(first.LeaseExpiresAt), "the lease is extended")
	looked := must(client.GetJobWithResponse(ctx, first.Id, nil)).JSON200
	check(looked.State == dibs.JobStateLeased && looked.Progress.(map[string]any)["done"] == 1.0, "the progress is seen")

	acked := must(client.AckJobWithResponse(ctx, first.Id, dibs.AckRequest{
		LeaseToken: first.LeaseToken,
		Result:     []bool{true},
	})).JSON200
	check(acked.State == dibs.JobStateCompleted, "the first job is done")
	nacked := must(client.NackJobWithResponse(ctx, second.Id, dibs.NackRequest{
		LeaseToken:   second.LeaseToken,
		Error:        ptr("no luck"),
		DelaySeconds: ptr(3600.0),
	})).JSON200
	check(nacked.State == dibs.JobStateScheduled && *nacked.LastError == "no luck", "the second job rests")
	settled := must(client.SettleJobsWithResponse(ctx, dibs.SettleRequest{
		Acks: &[]dibs.AckItem{
			{Id: third.Id, LeaseToken: third.LeaseToken},
			{Id: fourth.Id, LeaseToken: "stale"},
		},
		Nacks: &[]dibs.NackItem{{Id: fourth.Id, LeaseToken: fourth.LeaseToken, Retry: ptr(false)}},
	})).JSON200
	check(settled.Acks[0].Status == 200 && settled.Acks[1].Problem.Code == "lease_lost", "one of two acks counts")
	check(*settled.Nacks[0].State == dibs.JobStateDead, "the fourth job is dead")

	page := must(client.ListJobsWithResponse(ctx, &dibs.ListJobsParams{
		Queue:   ptr(queue),
		State:   ptr(dibs.JobStateDead),
		Include: ptr(dibs.IncludePayload),
	})).JSON200
	check(len(page.Jobs) == 1 && page.Jobs[0].Payload == 2.0 && page.NextCursor == nil, "the dead job is listed")

	opened := must(client.CreateBatchWithResponse(ctx, nil, dibs.BatchSpec{
		Queue:     queue,
		OnSuccess: &dibs.JobSpec{Queue: ptr(queue), Payload: "all done"},
	})).JSON201
	check(opened.State == dibs.BatchStateOpen && opened.Followers[0] == dibs.OnSuccess, "the batch is open")
	member := must(client.EnqueueJobWithResponse(ctx, nil, dibs.JobSpec{
		Queue: ptr(queue),
		Batch: ptr(opened.Id),
	})).JSON201
	check(*member.Batch == opened.Id, "the job is in the batch")
	closed := must(client.CloseBatchWithResponse(ctx, opened.Id)).JSON200
	check(closed.State == dibs.BatchStateRunning, "the batch is closed")
	request := dibs.ClaimRequest{Queues: &[]string{queue}}
	leased := must(client.ClaimJobsWithResponse(ctx, request)).JSON200.Jobs[0]
	check(leased.Id == member.Id, "the job of the batch is claimed")
	must(client.AckJobWithResponse(ctx, leased.Id, dibs.AckRequest{LeaseToken: leased.LeaseToken}))
	ended := must(client.GetBatchWithResponse(ctx, opened.Id, nil)).JSON200
	check(ended.State == dibs.BatchStateSucceeded && ended.Counts.Completed == 1, "the batch has succeeded")
	ready := must(client.ListJobsWithResponse(ctx, &dibs.ListJobsParams{
		Queue:   ptr(queue),
		State:   ptr(dibs.JobStateReady),
		Include: ptr(dibs.IncludePayload),
	})).JSON200.Jobs
	check(len(ready) == 1 && ready[0].Payload == "all done", "the follower is enqueued")

	gone := must(client.GetJobWithResponse(ctx, first.Id, nil)).ApplicationproblemJSON404
	check(gone.Status == 404 && gone.Code == "job_not_found", "the first job is gone")
	now := time.Now()
	wrong := must(client.EnqueueJobWithResponse(ctx, nil, dibs.JobSpec{
		DelaySeconds: ptr(1.0),
		RunAt:        &now,
	})).ApplicationproblemJSON400
	check(wrong.Code == "invalid_request" && (*wrong.Errors)[0].Path == "/run_at", "two times are one too many")

	fmt.Println("the cycle is done")
}
