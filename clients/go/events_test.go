package dibs_test

import (
	"runtime"
	"testing"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

func TestAnEventThatWasToldIsNotKept(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	freed := make(chan struct{})
	worker := &dibs.Worker{Client: fake.Client(), Queues: []string{"mail"}, Handler: succeeds, Observe: func(event dibs.Event) {
		if event.Type == "started" {
			runtime.SetFinalizer(event.Job.PayloadText, func(*string) { close(freed) })
		}
	}}
	ended := run(worker)
	if err := fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the job", func() bool {
		runtime.GC()
		select {
		case <-freed:
			return true
		default:
			return false
		}
	})
	worker.Stop()
	await(t, ended, "the end of Run")
}
