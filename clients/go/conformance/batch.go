package main

import (
	"context"
	"time"

	"dibs.example/dibs"
)

func batch(c command) {
	producer := &dibs.Producer{Client: c.client(), Retry: 10 * time.Second}
	found, err := withBatch(context.Background(), producer, c)
	if err != nil {
		say(map[string]any{"event": "failed", "as": c.As, "code": codeOf(err), "text": all(err)})
		return
	}
	say(map[string]any{"event": "batch", "as": c.As, "id": found.ID, "state": found.State, "counts": found.Counts})
}

func withBatch(ctx context.Context, producer *dibs.Producer, c command) (*dibs.Batch, error) {
	batch := producer.BatchByID(c.ID)
	if c.Batch != nil {
		made, err := producer.Batch(ctx, *c.Batch)
		if err != nil {
			return nil, err
		}
		batch = made
	}
	say(map[string]any{"event": "made", "as": c.As, "id": batch.ID})
	if err := act(ctx, batch, c); err != nil {
		return nil, err
	}
	if c.WaitSeconds == 0 {
		return batch.Get(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(c.WaitSeconds))
	defer cancel()
	return batch.Wait(ctx)
}

func act(ctx context.Context, batch *dibs.BatchHandle, c command) (err error) {
	if len(c.Add) == 1 {
		_, err = batch.Add(ctx, c.Add[0])
	} else if len(c.Add) > 0 {
		_, err = batch.AddAll(ctx, c.Add)
	}
	if err == nil && c.Close {
		err = batch.Close(ctx)
	}
	if err == nil && c.Cancel {
		_, err = batch.Cancel(ctx)
	}
	return err
}
