package dibs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// longestLook is for how long one request of a wait asks Dibs to wait.
const longestLook = 20 * time.Second

// BatchHandle is a batch, by its id. All else is in Dibs, so any process may take it up: Producer.BatchByID.
type BatchHandle struct {
	ID       string
	producer *Producer
}

// Batch creates a batch: jobs that belong together, and what follows their end. Its jobs and followers are enqueued as the jobs of the
// producer are. A repeat after a lost answer creates no second one.
func (p *Producer) Batch(ctx context.Context, batch BatchSpec) (*BatchHandle, error) {
	batch.Jobs = p.specs(batch.Jobs)
	for _, follower := range []**JobSpec{&batch.OnSuccess, &batch.OnEnd} {
		if *follower != nil {
			*follower = Ptr(p.spec(**follower))
		}
	}
	options := &CreateBatchOptions{IdempotencyKey: Ptr(newID())}
	made, err := repeat(ctx, p.Retry, func() (*Batch, error) {
		return asBatch(p.Client.CreateBatch(ctx, batch, options))
	})
	if err != nil {
		return nil, err
	}
	return p.BatchByID(made.ID), nil
}

// BatchByID is a batch that is there. Nothing is sent.
func (p *Producer) BatchByID(id string) *BatchHandle { return &BatchHandle{ID: id, producer: p} }

// Add makes a job in the batch, as Producer.Enqueue does. A batch that is closed refuses it: batch_closed.
func (b *BatchHandle) Add(ctx context.Context, job JobSpec) (*Job, error) {
	job.Batch = &b.ID
	return b.producer.Enqueue(ctx, job)
}

// AddAll makes jobs in the batch, as Producer.EnqueueAll does. A batch that is closed refuses them: batch_closed.
func (b *BatchHandle) AddAll(ctx context.Context, jobs []JobSpec) ([]Job, error) {
	own := make([]JobSpec, len(jobs))
	for i, job := range jobs {
		job.Batch = &b.ID
		own[i] = job
	}
	return b.producer.EnqueueAll(ctx, own)
}

// Close lets no more jobs come in, but those that its own jobs add. So it can end. The error is batch_closed when it was closed before.
func (b *BatchHandle) Close(ctx context.Context) error {
	tries := 0
	_, err := repeat(ctx, b.producer.Retry, func() (*Batch, error) {
		tries++
		closed, err := asBatch(b.producer.Client.CloseBatch(ctx, b.ID))
		if refusal, isRefusal := refusalIn(err); isRefusal && refusal.Code == "batch_closed" && tries > 1 {
			return nil, nil // An earlier try has closed it, and its answer was lost.
		}
		return closed, err
	})
	return err
}

// Get is the batch as it is now. The key needs the scope read.
func (b *BatchHandle) Get(ctx context.Context) (*Batch, error) {
	return repeat(ctx, b.producer.Retry, func() (*Batch, error) {
		return asBatch(b.producer.Client.GetBatch(ctx, b.ID, nil))
	})
}

// Wait returns the batch when it has "succeeded", or "ended" with dead or cancelled jobs. It must be closed for that. When ctx ends
// before that, the error wraps ctx.Err(), and what failed last. The key needs the scope read.
func (b *BatchHandle) Wait(ctx context.Context) (*Batch, error) {
	if err := b.producer.Client.check(ctx); err != nil {
		return nil, err
	}
	for early := 0; ; {
		began, held := time.Now(), longestLook
		if deadline, isThere := ctx.Deadline(); isThere {
			held = max(0, min(held, time.Until(deadline)))
		}
		batch, err := b.look(ctx, held)
		if err != nil {
			return nil, err
		}
		if batch.State == "succeeded" || batch.State == "ended" {
			return batch, nil
		}
		pause := time.Duration(0)
		if time.Since(began) < held/2 { // A Dibs that stops answers at once.
			early++
			pause = backoff(early, nil)
		} else {
			early = 0
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("dibs: the batch %s has not ended, it is %s: %w", b.ID, batch.State, ctx.Err())
		}
	}
}

func (b *BatchHandle) look(ctx context.Context, held time.Duration) (*Batch, error) {
	within := b.producer.Retry
	if within >= 0 {
		within = orDefault(within, defaultRetry) + held
		if deadline, isThere := ctx.Deadline(); isThere && time.Until(deadline) <= within {
			within = longest // ctx ends it.
		}
	}
	options := &GetBatchOptions{WaitSeconds: Ptr(held.Seconds())}
	return repeat(ctx, within, func() (*Batch, error) {
		return asBatch(b.producer.Client.GetBatch(ctx, b.ID, options))
	})
}

// Cancel closes the batch, and cancels its jobs that wait. Those that are leased go on. Nothing follows it any more. The key needs the
// scope admin.
func (b *BatchHandle) Cancel(ctx context.Context) (*Batch, error) {
	return repeat(ctx, b.producer.Retry, func() (*Batch, error) {
		return asBatch(b.producer.Client.CancelBatch(ctx, b.ID))
	})
}

// asBatch: something before Dibs may have answered.
func asBatch(batch *Batch, err error) (*Batch, error) {
	if err == nil && (batch.ID == "" || batch.State == "") {
		return nil, &ConnectionError{errors.New("the answer is not of Dibs: it has no batch")}
	}
	return batch, err
}
