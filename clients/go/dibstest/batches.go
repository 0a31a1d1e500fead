package dibstest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dibs.example/dibs"
)

const at = "1970-01-01T00:00:00.000Z"

// batch is what was asked for, without the followers that were enqueued.
type batch struct {
	dibs.BatchSpec
	id       string
	isClosed bool
}

func (b *batch) followers() []*dibs.JobSpec {
	return slices.DeleteFunc([]*dibs.JobSpec{b.OnEnd, b.OnSuccess}, func(job *dibs.JobSpec) bool { return job == nil })
}

func refusal(status int, code, detail string) *dibs.Problem {
	return &dibs.Problem{Type: problemType + code, Status: int64(status), Code: code, Detail: detail}
}

// answerBatch answers a request about batches.
func (f *Fake) answerBatch(request *http.Request, body []byte) (int, any) {
	path := request.URL.Path
	if path == "/batches" && request.Method == http.MethodPost {
		return 201, f.createBatch(read[dibs.BatchSpec](body))
	}
	id, isClose := strings.CutSuffix(strings.TrimPrefix(path, "/batches/"), "/close")
	if strings.Contains(id, "/") {
		return 404, noRoute(request)
	}
	found, refused := f.findBatch(id)
	if refused != nil {
		return int(refused.Status), refused
	}
	switch {
	case isClose && found.isClosed:
		refused = f.closed(id)
		return int(refused.Status), refused
	case isClose:
		found.isClosed = true
	case request.Method == http.MethodDelete:
		f.cancelBatch(found)
	default:
		f.awaitBatch(request.Context(), found, request.URL.Query().Get("wait_seconds"))
	}
	f.change()
	return 200, f.shown(found)
}

func (f *Fake) createBatch(spec dibs.BatchSpec) dibs.Batch {
	made := &batch{BatchSpec: spec, id: fmt.Sprintf("batch-%d", len(f.batches)+1), isClosed: spec.Closed != nil && *spec.Closed}
	f.batches = append(f.batches, made)
	for _, job := range spec.Jobs {
		job.Batch = &made.id
		f.enqueue(job)
	}
	f.change()
	return f.shown(made)
}

func (f *Fake) cancelBatch(b *batch) {
	b.isClosed, b.OnEnd, b.OnSuccess = true, nil, nil
	for _, job := range f.own(b) {
		if job.State == "ready" {
			job.State = "cancelled"
		}
	}
}

func (f *Fake) awaitBatch(ctx context.Context, b *batch, waitSeconds string) {
	seconds, _ := strconv.ParseFloat(waitSeconds, 64)
	timer := time.NewTimer(time.Duration(min(seconds, 60) * float64(time.Second)))
	defer timer.Stop()
	for !hasEnded(f.state(b)) && f.wait(ctx, timer.C) {
	}
}

func (f *Fake) findBatch(id string) (*batch, *dibs.Problem) {
	i := slices.IndexFunc(f.batches, func(b *batch) bool { return b.id == id })
	if i < 0 {
		return nil, refusal(404, "batch_not_found", "There is no batch "+id+".")
	}
	return f.batches[i], nil
}

func (f *Fake) closed(id string) *dibs.Problem {
	return refusal(409, "batch_closed", "The batch "+id+" is closed.")
}

// hold: before jobs come in. A job of the batch own adds them, if there is one.
func (f *Fake) hold(specs []dibs.JobSpec, own *string) *dibs.Problem {
	for _, spec := range specs {
		if spec.Batch == nil || (own != nil && *spec.Batch == *own) {
			continue
		}
		found, refused := f.findBatch(*spec.Batch)
		if refused == nil && found.isClosed {
			refused = f.closed(found.id)
		}
		if refused != nil {
			return refused
		}
	}
	return nil
}

// follow lets followers come where all jobs are finished. One may be of another batch.
func (f *Fake) follow() {
	for isFollowed := true; isFollowed; {
		isFollowed = false
		for _, b := range f.batches {
			state := f.state(b)
			if b.OnEnd != nil && hasEnded(state) {
				f.enqueue(*b.OnEnd)
				b.OnEnd, isFollowed = nil, true
			}
			if b.OnSuccess != nil && state == "succeeded" {
				f.enqueue(*b.OnSuccess)
				b.OnSuccess, isFollowed = nil, true
			}
		}
	}
}

func hasEnded(state dibs.BatchState) bool { return state == "succeeded" || state == "ended" }

func (f *Fake) own(b *batch) []*Job {
	own := []*Job{}
	for _, job := range f.jobs {
		if job.Batch != nil && *job.Batch == b.id {
			own = append(own, job)
		}
	}
	return own
}

func (f *Fake) state(b *batch) dibs.BatchState {
	if !b.isClosed {
		return "open"
	}
	for _, other := range f.batches {
		if slices.ContainsFunc(other.followers(), func(job *dibs.JobSpec) bool { return job.Batch != nil && *job.Batch == b.id }) {
			return "running"
		}
	}
	state := "succeeded"
	for _, job := range f.own(b) {
		if !isFinished(job.State) {
			return "running"
		}
		if job.State != "completed" {
			state = "ended"
		}
	}
	return state
}

func (f *Fake) shown(b *batch) dibs.Batch {
	shown := dibs.Batch{ID: b.id, Name: b.Name, Queue: b.Queue, State: f.state(b), CreatedAt: at, Followers: []dibs.BatchFollower{}}
	counts := map[dibs.JobState]*int64{
		"ready": &shown.Counts.Ready, "leased": &shown.Counts.Leased, "completed": &shown.Counts.Completed,
		"cancelled": &shown.Counts.Cancelled, "dead": &shown.Counts.Dead,
	}
	for _, job := range f.own(b) {
		*counts[job.State]++
	}
	if b.OnEnd != nil {
		shown.Followers = append(shown.Followers, "on_end")
	}
	if b.OnSuccess != nil {
		shown.Followers = append(shown.Followers, "on_success")
	}
	if b.isClosed {
		shown.ClosedAt = dibs.Ptr(at)
	}
	if hasEnded(shown.State) {
		shown.FinishedAt = dibs.Ptr(at)
	}
	return shown
}
