package dibstest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"dibs.example/dibs"
)

// Client is a client of the Fake.
func (f *Fake) Client() *dibs.Client {
	return &dibs.Client{HTTP: &http.Client{Transport: transport{f}}}
}

const problemType = "urn:problem-type:dibs:"

type transport struct{ fake *Fake }

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	body := []byte("{}")
	if request.Body != nil {
		defer request.Body.Close()
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	status, answer := t.fake.answer(request, body)
	// Who hangs up gets nothing.
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: status, Request: request, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(encoded(answer))),
	}, nil
}

// settleAnswer has the jobs of a claim also where there are none. dibs.SettleResults leaves an empty list out: then the worker takes the
// answer for lost.
type settleAnswer struct {
	dibs.SettleResults
	Jobs *[]dibs.LeasedJob `json:"jobs,omitempty"`
}

func (f *Fake) answer(request *http.Request, body []byte) (int, any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, path := request.Context(), request.URL.Path
	switch request.Method + " " + path {
	case "POST /jobs":
		jobs, refused := f.enqueueAll([]dibs.JobSpec{read[dibs.JobSpec](body)}, nil)
		if refused != nil {
			return int(refused.Status), refused
		}
		f.change()
		return 201, jobs[0]
	case "POST /jobs/batch":
		jobs, refused := f.enqueueAll(read[dibs.JobSpecList](body).Jobs, nil)
		if refused != nil {
			return int(refused.Status), refused
		}
		f.change()
		return 201, dibs.JobList{Jobs: jobs}
	case "POST /jobs/claim":
		return 200, dibs.LeasedJobList{Jobs: f.claim(ctx, read[dibs.ClaimRequest](body))}
	case "POST /jobs/settle":
		request := read[dibs.SettleRequest](body)
		answer := settleAnswer{SettleResults: f.settle(ctx, request)}
		if request.Claim != nil {
			answer.Jobs = &answer.SettleResults.Jobs
		}
		return 200, answer
	}
	if path == "/batches" || strings.HasPrefix(path, "/batches/") {
		return f.answerBatch(request, body)
	}
	if id, isExtend := strings.CutSuffix(strings.TrimPrefix(path, "/jobs/"), "/extend"); isExtend {
		result := f.extend(id, read[dibs.ExtendRequest](body))
		if result.Problem != nil {
			return 409, result.Problem
		}
		return 200, dibs.Extended{ID: id, CancelRequested: false}
	}
	return 404, noRoute(request)
}

func noRoute(request *http.Request) *dibs.Problem {
	return refusal(404, "route_not_found", "dibstest has no "+request.Method+" "+request.URL.Path+".")
}

func read[T any](body []byte) T {
	var value T
	if err := json.Unmarshal(body, &value); err != nil {
		panic(err)
	}
	return value
}
