// Makes a database with River, and jobs in every state: for otherQueues.test.ts.
//
//	go run . URL VERSION
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
)

type mail struct {
	To   string `json:"to"`
	Fail bool   `json:"fail"`
}

func (mail) Kind() string { return "mail" }

type worker struct {
	river.WorkerDefaults[mail]
}

func (worker) Work(_ context.Context, job *river.Job[mail]) error {
	if job.Args.Fail {
		return errors.New("no such mailbox: " + job.Args.To)
	}
	return nil
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Args[1])
	must(err)
	defer pool.Close()
	version, err := strconv.Atoi(os.Args[2])
	must(err)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: version})
	must(err)

	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	client, err := river.NewClient(driver, &river.Config{
		Queues:  map[string]river.QueueConfig{"failing": {MaxWorkers: 4}},
		Workers: workers,
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 4})),
	})
	must(err)

	insert := func(args mail, opts river.InsertOpts) {
		_, err := client.Insert(ctx, args, &opts)
		must(err)
	}
	metadata, err := json.Marshal(map[string]string{"tenant": "acme"})
	must(err)
	insert(mail{To: "second"}, river.InsertOpts{Queue: "letters", Priority: 2})
	insert(mail{To: "first"}, river.InsertOpts{Queue: "letters", Tags: []string{"letter", "first-class"}, Metadata: metadata})
	insert(mail{To: "later"}, river.InsertOpts{Queue: "letters", ScheduledAt: time.Now().Add(time.Hour)})
	insert(mail{To: "done"}, river.InsertOpts{Queue: "failing"})
	insert(mail{To: "dead", Fail: true}, river.InsertOpts{Queue: "failing", MaxAttempts: 1})
	insert(mail{To: "again", Fail: true}, river.InsertOpts{Queue: "failing", MaxAttempts: 9})

	failed, stop := client.Subscribe(river.EventKindJobFailed, river.EventKindJobCompleted)
	defer stop()
	must(client.Start(ctx))
	for range 3 {
		<-failed
	}
	must(client.Stop(ctx))
	// A retry after a second would be due before anybody looks.
	_, err = pool.Exec(ctx, "update river_job set state = $1, scheduled_at = now() + interval '1 hour' where args->>'to' = 'again'",
		rivertype.JobStateRetryable)
	must(err)
}
