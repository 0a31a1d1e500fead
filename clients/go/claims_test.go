package dibs_test

import (
	"context"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"

	"dibs.example/dibs"
)

func TestClaimsThatWereAnsweredLeaveNothingBehind(t *testing.T) {
	const few, many = 100, 10_100
	var claims atomic.Int32
	var first, last runtime.MemStats
	over := make(chan struct{})
	client := answering(func(request *http.Request) (*http.Response, error) {
		switch claims.Add(1) {
		case few:
			runtime.GC()
			runtime.ReadMemStats(&first)
		case many:
			runtime.GC()
			runtime.ReadMemStats(&last)
			close(over)
		}
		return answer(request, 200, nil, `{"jobs": []}`), nil
	})
	worker := &dibs.Worker{Client: client, NoSession: true, Handler: func(context.Context, *dibs.Work) error { return nil }}
	ended := run(worker)
	await(t, over, "the last claim")
	worker.Stop()
	await(t, ended, "the end of Run")
	if more := int64(last.HeapObjects) - int64(first.HeapObjects); more > (many-few)/2 {
		t.Errorf("%d claims have left %d objects", many-few, more)
	}
}
