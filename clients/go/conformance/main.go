// The driver of the Go library for the conformance suite. See clients/conformance/README.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"sync"
	"time"

	"dibs.example/dibs"
)

var out sync.Mutex

func say(event map[string]any) {
	out.Lock()
	defer out.Unlock()
	_ = json.NewEncoder(os.Stdout).Encode(event)
}

type command struct {
	Do             string         `json:"do"`
	As             string         `json:"as"`
	URL            string         `json:"url"`
	Queues         []string       `json:"queues"`
	Concurrency    int            `json:"concurrency"`
	LeaseSeconds   duration       `json:"lease_seconds"`
	WaitSeconds    duration       `json:"wait_seconds"`
	StopSeconds    duration       `json:"stop_seconds"`
	TimeoutSeconds duration       `json:"timeout_seconds"`
	RetrySeconds   *duration      `json:"retry_seconds"`
	Name           string         `json:"name"`
	Session        *bool          `json:"session"`
	ResumeSeconds  *duration      `json:"resume_seconds"`
	Key            keySteps       `json:"key"`
	KeyFile        string         `json:"key_file"`
	StopFirst      bool           `json:"stop_first"`
	StopOn         string         `json:"stop_on"`
	UntilSignal    bool           `json:"until_signal"`
	Seconds        *duration      `json:"seconds"`
	Jobs           []dibs.JobSpec `json:"jobs"`
	// Of a batch. WaitSeconds is 0 where it is not waited for.
	Batch  *dibs.BatchSpec `json:"batch"`
	ID     string          `json:"id"`
	Add    []dibs.JobSpec  `json:"add"`
	Close  bool            `json:"close"`
	Cancel bool            `json:"cancel"`
}

func start(c command) (worker *dibs.Worker, cancel func()) {
	worker = &dibs.Worker{
		Client:      c.client(),
		Queues:      c.Queues,
		Concurrency: c.Concurrency,
		Lease:       time.Duration(c.LeaseSeconds),
		Wait:        time.Duration(c.WaitSeconds),
		StopAfter:   time.Duration(c.StopSeconds),
		Name:        c.Name,
		NoSession:   c.Session != nil && !*c.Session,
		Observe: func(event dibs.Event) {
			switch event.Type {
			case "signalled":
				say(map[string]any{"event": "signal", "as": c.As, "id": event.Job.ID, "code": event.Err.Error()})
			case "retrying":
				say(map[string]any{"event": "retrying", "as": c.As, "text": all(event.Err)})
			case "refused":
				say(map[string]any{"event": "refused", "as": c.As, "id": event.Job.ID, "text": all(event.Err)})
			}
			if event.Type == c.StopOn {
				worker.Stop()
			}
		},
	}
	if c.ResumeSeconds != nil {
		worker.Resume = time.Duration(*c.ResumeSeconds)
		if worker.Resume == 0 {
			worker.Resume = 1 // 0 is the default.
		}
	}
	worker.Handler = func(ctx context.Context, job *dibs.Work) error { return handle(ctx, worker, c.As, job) }
	if c.StopFirst {
		worker.Stop()
	}
	ctx, cancel := context.WithCancel(context.Background())
	run := worker.Run
	if c.UntilSignal {
		run = worker.RunUntilSignal
	}
	act := func() {
		if err := run(ctx); err != nil {
			say(map[string]any{"event": "failed", "as": c.As, "code": codeOf(err), "text": all(err)})
		} else {
			say(map[string]any{"event": "stopped", "as": c.As})
		}
	}
	if c.UntilSignal {
		act()
	} else {
		go act()
	}
	return worker, cancel
}

func enqueue(c command) {
	producer := &dibs.Producer{Client: c.client(), Retry: 10 * time.Second}
	if c.RetrySeconds != nil {
		producer.Retry = time.Duration(*c.RetrySeconds)
	}
	ctx := context.Background()
	var jobs []dibs.Job
	var err error
	if len(c.Jobs) == 1 {
		var job *dibs.Job
		if job, err = producer.Enqueue(ctx, c.Jobs[0]); err == nil {
			jobs = []dibs.Job{*job}
		}
	} else {
		jobs, err = producer.EnqueueAll(ctx, c.Jobs)
	}
	if err != nil {
		say(map[string]any{"event": "failed", "as": c.As, "code": codeOf(err), "text": all(err)})
		return
	}
	ids := []string{}
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	say(map[string]any{"event": "enqueued", "as": c.As, "ids": ids})
}

// awaitKill is for a process whose main thread runs a worker.
func awaitKill(lines *bufio.Scanner) {
	for lines.Scan() {
		var c command
		if json.Unmarshal(lines.Bytes(), &c) == nil && c.Do == "kill" {
			kill()
		}
	}
}

func kill() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

func main() {
	workers := map[string]*dibs.Worker{}
	cancels := map[string]func(){}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			panic(err)
		}
		switch c.Do {
		case "start":
			if c.UntilSignal {
				go awaitKill(lines)
			}
			workers[c.As], cancels[c.As] = start(c)
			if c.UntilSignal {
				return
			}
		case "kill":
			kill()
		case "enqueue":
			go enqueue(c)
		case "batch":
			go batch(c)
		case "cancel":
			cancels[c.As]()
		case "odd_ends":
			names := []string{}
			for name := range oddEnds {
				names = append(names, name)
			}
			say(map[string]any{"event": "odd_ends", "as": c.As, "names": names})
		case "stop":
			if worker := workers[c.As]; c.Seconds == nil {
				go worker.Stop()
			} else {
				go worker.StopWithin(time.Duration(*c.Seconds))
			}
		}
	}
}
