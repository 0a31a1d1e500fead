package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// sent is what a client was asked.
type sent struct{ call, key, wait string }

type reply struct {
	status int
	text   string
}

// lost is an answer that never comes.
var lost = reply{}

func ok(text string) reply { return reply{200, text} }

func refused(status int, code, more string) reply {
	return reply{status, fmt.Sprintf(`{"type":"urn:problem-type:dibs:%s","status":%d,"code":%q%s}`, code, status, code, more)}
}

// scripted is a producer before a Dibs that gives these answers, one after the other, the last one for all that follow.
func scripted(answers ...reply) (*dibs.Producer, *[]sent) {
	asked := &[]sent{}
	client := answering(func(request *http.Request) (*http.Response, error) {
		given := answers[min(len(*asked), len(answers)-1)]
		call, wait := request.Method+" "+request.URL.EscapedPath(), request.URL.Query().Get("wait_seconds")
		*asked = append(*asked, sent{call, request.Header.Get("Idempotency-Key"), wait})
		if given == lost {
			return nil, errors.New("it broke")
		}
		return answer(request, given.status, http.Header{}, given.text), nil
	})
	return &dibs.Producer{Client: client}, asked
}

const open = `{"id":"batch-1","state":"open"}`

func codeOf(err error) string {
	var refusal *dibs.Error
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return fmt.Sprint(err)
}

func TestAProducerMakesABatchAddsClosesAndWaitsAHandlerAddsAndWhatFollowsComesOnce(t *testing.T) {
	ctx, fake := within(t), dibstest.New()
	producer := &dibs.Producer{Client: fake.Client(), Headers: func() map[string]string { return map[string]string{"tenant": "acme"} }}
	job := func(payload string) dibs.JobSpec {
		return dibs.JobSpec{Queue: dibs.Ptr("mail"), Payload: []byte(payload)}
	}
	batch, err := producer.Batch(ctx, dibs.BatchSpec{
		Queue: "mail", Name: dibs.Ptr("issue 12"), Jobs: []dibs.JobSpec{job("1")},
		OnSuccess: dibs.Ptr(job("7")), OnEnd: dibs.Ptr(job("8")),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, one := batch.Add(ctx, job("2"))
	_, many := batch.AddAll(ctx, []dibs.JobSpec{job("3"), job("4")})
	if err := errors.Join(one, many, batch.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	if _, err := batch.Add(ctx, job("5")); codeOf(err) != "batch_closed" {
		t.Fatal(err)
	}
	jobs := finish(t, fake, &dibs.Worker{Handler: func(_ context.Context, work *dibs.Work) error {
		more := job("5")
		more.Batch = work.Batch
		switch work.Text {
		case "1":
			work.FollowUp(more)
		case "2":
			work.FollowUp(job("6"))
		}
		return nil
	}})
	ended, err := producer.BatchByID(batch.ID).Wait(ctx)
	if err != nil || ended.State != "succeeded" || ended.Counts.Completed != 5 || *ended.Name != "issue 12" {
		t.Fatal(ended, err)
	}
	inIt, others := []string{}, []string{}
	for _, job := range jobs {
		if job.Batch != nil {
			inIt = append(inIt, string(job.Payload))
		} else {
			others = append(others, string(job.Payload)+job.Headers["tenant"])
		}
	}
	slices.Sort(inIt)
	slices.Sort(others)
	if !slices.Equal(inIt, []string{"1", "2", "3", "4", "5"}) || !slices.Equal(others, []string{"6", "7acme", "8acme"}) {
		t.Error(inIt, others)
	}
}

func TestAJobWhoseFollowUpIsForAClosedBatchIsDeadAndSaysWhy(t *testing.T) {
	fake := dibstest.New()
	closed, err := (&dibs.Producer{Client: fake.Client()}).Batch(within(t), dibs.BatchSpec{Queue: "mail", Closed: dibs.Ptr(true)})
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, fake, 1)
	jobs := finish(t, fake, &dibs.Worker{Handler: func(_ context.Context, work *dibs.Work) error {
		work.FollowUp(dibs.JobSpec{Batch: &closed.ID})
		return nil
	}})
	if len(jobs) != 1 || jobs[0].State != "dead" || !strings.Contains(jobs[0].Error, "the ack was refused") {
		t.Fatal(jobs)
	}
}

func TestABatchThatIsCancelledHasEndedAndNothingFollows(t *testing.T) {
	ctx, fake := within(t), dibstest.New()
	spec := dibs.BatchSpec{Queue: "mail", Jobs: []dibs.JobSpec{{}}, OnEnd: &dibs.JobSpec{}}
	batch, err := (&dibs.Producer{Client: fake.Client()}).Batch(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := batch.Cancel(ctx); err != nil {
		t.Fatal(err)
	}
	if ended, err := batch.Wait(ctx); err != nil || ended.State != "ended" || ended.Counts.Cancelled != 1 {
		t.Fatal(ended, err)
	}
	if err := fake.WaitUntilDone(ctx); err != nil || len(fake.Jobs("")) != 1 {
		t.Fatal(err)
	}
}

func TestANewBatchIsAskedForAgainWhereDibsSaysThatItWasNotMade(t *testing.T) {
	producer, asked := scripted(refused(503, "unavailable", `,"outcome":"not_done"`), refused(429, "queue_full", ""), ok(open))
	batch, err := producer.Batch(within(t), dibs.BatchSpec{Queue: "q"})
	if err != nil || batch.ID != "batch-1" || len(*asked) != 3 {
		t.Fatal(err, *asked)
	}
}

func TestANewBatchIsAskedForAgainWithItsIdempotencyKeyWhenItMayBeThere(t *testing.T) {
	for name, answer := range map[string]reply{
		"a lost answer":         lost,
		"an answer of another":  ok(`{"status":"ok"}`),
		"an unknown outcome":    refused(503, "unavailable", `,"outcome":"unknown"`),
		"a failure of Dibs":     refused(500, "internal", ""),
		"the page of a gateway": {502, "<html>"},
	} {
		producer, asked := scripted(answer, ok(open))
		batch, err := producer.Batch(within(t), dibs.BatchSpec{Queue: "q"})
		if err != nil || batch.ID != "batch-1" || len(*asked) != 2 {
			t.Errorf("%s: %v, asked %d times", name, err, len(*asked))
			continue
		}
		if keys := *asked; keys[0].key == "" || keys[0].key != keys[1].key {
			t.Errorf("%s: %v", name, keys)
		}
	}
}

func TestAnAddIsRepeatedWithItsIdempotencyKey(t *testing.T) {
	producer, asked := scripted(lost, ok(`{"id":"job-1"}`))
	if _, err := producer.BatchByID("b").Add(within(t), dibs.JobSpec{}); err != nil {
		t.Fatal(err)
	}
	if keys := *asked; len(keys) != 2 || keys[0].key == "" || keys[0].key != keys[1].key {
		t.Fatal(keys)
	}
}

func TestACloseWhoseAnswerWasLostHasClosedTheBatch(t *testing.T) {
	producer, asked := scripted(lost, refused(409, "batch_closed", ""))
	if err := producer.BatchByID("b/c").Close(within(t)); err != nil {
		t.Fatal(err)
	}
	if (*asked)[1].call != "POST /batches/b%2Fc/close" {
		t.Fatal(*asked)
	}
	producer, _ = scripted(refused(409, "batch_closed", ""))
	if err := producer.BatchByID("b").Close(within(t)); codeOf(err) != "batch_closed" {
		t.Fatal(err)
	}
}

func TestAWaitGoesOnUntilTheBatchHasEndedThroughFailuresThatPass(t *testing.T) {
	producer, asked := scripted(ok(open), lost, ok(`{"id":"b","state":"running"}`), ok(`{"id":"b","state":"ended"}`))
	if batch, err := producer.BatchByID("b").Wait(context.Background()); err != nil || batch.State != "ended" {
		t.Fatal(batch, err)
	}
	if len(*asked) != 4 || slices.ContainsFunc(*asked, func(one sent) bool { return one.wait != "20" }) {
		t.Fatal(*asked)
	}
}

func TestAWaitEndsWithItsContextAndDoesNotAskWithoutRest(t *testing.T) {
	producer, asked := scripted(ok(open))
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := producer.BatchByID("b").Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || len(*asked) > 20 {
		t.Fatal(err, len(*asked))
	}
}

func TestAWaitForABatchThatIsNotThereOrWithoutAContextIsRefused(t *testing.T) {
	producer, _ := scripted(refused(404, "batch_not_found", ""))
	if _, err := producer.BatchByID("b").Wait(within(t)); codeOf(err) != "batch_not_found" {
		t.Fatal(err)
	}
	//lint:ignore SA1012 that is what is tried
	if _, err := producer.BatchByID("b").Wait(nil); !isNeither(err) {
		t.Fatal(err)
	}
}

func TestAWaitWhoseTimeEndsDuringAnOutageSaysSoAndWhatFailed(t *testing.T) {
	for name, wait := range map[string]struct {
		after string
		retry time.Duration
	}{
		"Dibs asks to come back later than that": {"60", 0},
		"the producer has no patience":           {"0", time.Nanosecond},
	} {
		client := answering(func(request *http.Request) (*http.Response, error) {
			return answer(request, 503, http.Header{"Retry-After": {wait.after}}, ""), nil
		})
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		_, err := (&dibs.Producer{Client: client, Retry: wait.retry}).BatchByID("b").Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || codeOf(err) != "http_503" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
