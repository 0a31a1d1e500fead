package dibstest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

type mail struct {
	N int `json:"n"`
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func enqueue(t *testing.T, fake *dibstest.Fake, payloads ...any) {
	t.Helper()
	jobs := []dibs.JobSpec{}
	for _, payload := range payloads {
		text := fmt.Appendf(nil, `%v`, payload)
		jobs = append(jobs, dibs.JobSpec{Queue: dibs.Ptr("mail"), Payload: text})
	}
	if _, err := (&dibs.Producer{Client: fake.Client()}).EnqueueAll(within(t), jobs); err != nil {
		t.Fatal(err)
	}
}

// work works until all jobs are done.
func work(t *testing.T, fake *dibstest.Fake, handler dibs.Handler) {
	t.Helper()
	worker := &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}, Handler: handler}
	var running sync.WaitGroup
	running.Add(1)
	go func() {
		defer running.Done()
		if err := worker.Run(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	worker.Stop()
	running.Wait()
}

func TestAHandlerIsTestedWithAJobThatIsMadeUp(t *testing.T) {
	handler := func(_ context.Context, job *dibs.Work) error {
		var m mail
		if err := job.Decode(&m); err != nil {
			return err
		}
		job.SetResult(m.N + int(job.Attempt))
		job.FollowUp(dibs.JobSpec{Queue: dibs.Ptr("receipts")})
		return job.Report(50)
	}
	job := dibstest.Work(mail{N: 1})
	job.Attempt = 2
	if err := handler(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	if job.Result() != 3 || len(job.FollowUps()) != 1 || job.LastReport() != 50 {
		t.Fatalf("result %v, follow-ups %v, progress %v", job.Result(), job.FollowUps(), job.LastReport())
	}
}

func TestProducersAndWorkersAreTestedWithADibsInMemory(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, `{"n":1}`, `{"n":2}`, `{"n":3}`)
	work(t, fake, func(_ context.Context, job *dibs.Work) error {
		var m mail
		if err := job.Decode(&m); err != nil {
			return err
		}
		if m.N == 2 {
			return dibs.Dead(errors.New("never"))
		}
		if m.N == 3 {
			job.FollowUp(dibs.JobSpec{Queue: dibs.Ptr("mail"), Payload: []byte(`{"n":4}`)})
		}
		job.SetResult(m.N)
		return nil
	})
	outcomes := []string{}
	for _, job := range fake.Jobs("mail") {
		outcomes = append(outcomes, fmt.Sprintf("%s %s%s", job.State, job.Result, job.Error))
	}
	if want := []string{"completed 1", "dead never", "completed 3", "completed 4"}; !reflect.DeepEqual(outcomes, want) {
		t.Fatalf("%q", outcomes)
	}
}

func TestAFailedJobComesBackUntilItHadFiveAttemptsAndAReleaseChargesNone(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	work(t, fake, func(_ context.Context, job *dibs.Work) error {
		if job.Deliveries == 1 {
			return &dibs.Release{}
		}
		return fmt.Errorf("attempt %d", job.Attempt)
	})
	job := fake.Jobs("")[0]
	if job.State != "dead" || job.Attempt != 5 || job.Deliveries != 6 || job.Error != "attempt 5" {
		t.Fatalf("%+v", job)
	}
}

func TestProgressIsKept(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	work(t, fake, func(_ context.Context, job *dibs.Work) error { return job.Report(map[string]int{"percent": 40}) })
	if progress := string(fake.Jobs("mail")[0].Progress); progress != `{"percent":40}` {
		t.Fatal(progress)
	}
}

func TestALostLeaseAndAnOperationThatItDoesNotHaveAreRefused(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	var refused *dibs.Error
	_, err := fake.Client().ExtendLease(within(t), "job-1", dibs.ExtendRequest{LeaseToken: "stale", LeaseSeconds: 30})
	if !errors.As(err, &refused) || refused.Code != "lease_lost" {
		t.Fatal(err)
	}
	_, err = fake.Client().GetQueue(within(t), "mail")
	if !errors.As(err, &refused) || refused.Code != "route_not_found" {
		t.Fatal(err)
	}
}

func TestAnOperationOnJobsThatItDoesNotHaveEnqueuesNone(t *testing.T) {
	fake := dibstest.New()
	_, list := fake.Client().ListJobs(within(t), nil)
	_, one := fake.Client().GetJob(within(t), "batch", nil)
	for _, err := range []error{list, one} {
		var refused *dibs.Error
		if !errors.As(err, &refused) || refused.Code != "route_not_found" {
			t.Error(err)
		}
	}
	if jobs := fake.Jobs(""); len(jobs) != 0 {
		t.Errorf("got %+v", jobs)
	}
}

func TestAClaimThatIsRepeatedGetsTheSameJobs(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1, 2, 3)
	claim := func(limit int64) []dibs.LeasedJob {
		request := dibs.ClaimRequest{Queues: []string{"mail"}, Limit: &limit, ClaimID: dibs.Ptr("a")}
		list, err := fake.Client().ClaimJobs(within(t), request)
		if err != nil {
			t.Fatal(err)
		}
		return list.Jobs
	}
	first := claim(2)
	if again := claim(1); len(first) != 2 || !reflect.DeepEqual(first, again) {
		t.Fatalf("%+v, then %+v", first, again)
	}
	for _, job := range first {
		if _, err := fake.Client().SettleJobs(within(t), dibs.SettleRequest{Acks: []dibs.AckItem{{ID: job.ID, LeaseToken: job.LeaseToken}}}); err != nil {
			t.Fatal(err)
		}
	}
	if next := claim(1); len(next) != 1 || next[0].ID != "job-3" {
		t.Fatalf("%+v", next)
	}
}

func TestASettlementWhoseClaimGetsNoJobIsAnswered(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	lease, err := fake.Client().ClaimJobs(within(t), dibs.ClaimRequest{Queues: []string{"mail"}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := fake.Client().SettleJobs(within(t), dibs.SettleRequest{
		Acks:  []dibs.AckItem{{ID: lease.Jobs[0].ID, LeaseToken: lease.Jobs[0].LeaseToken}},
		Claim: &dibs.ClaimRequest{Queues: []string{"mail"}},
	})
	if err != nil || answer.Jobs == nil || len(answer.Jobs) != 0 {
		t.Fatalf("%+v, %v", answer, err)
	}
}

func TestAWorkerThatStoppedTakesNoJobAnyMore(t *testing.T) {
	fake := dibstest.New()
	work(t, fake, func(context.Context, *dibs.Work) error { return nil })
	enqueue(t, fake, 1)
	if job := fake.Jobs("mail")[0]; job.State != "ready" {
		t.Fatalf("%+v", job)
	}
}
