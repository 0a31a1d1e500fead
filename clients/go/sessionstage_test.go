package dibs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// holding is one POST /sessions.
type holding struct {
	// n counts them, from 1. id is the session, which was asked for, or is new.
	n         int
	id        string
	isResumed bool
	resume    float64
	key       string
	came      time.Time
	// Closed when the client has hung up, or the answer is over.
	gone   chan struct{}
	writer http.ResponseWriter
	client context.Context
}

func (h *holding) say(line string) {
	fmt.Fprintln(h.writer, line)
	h.writer.(http.Flusher).Flush()
}

func (h *holding) open() { h.say(fmt.Sprintf(`{"session": %q, "resume_seconds": %g}`, h.id, h.resume)) }

// beat goes on saying lines until the client hangs up, or until is closed. Then it tells whether that is so.
func (h *holding) beat(until <-chan struct{}) bool {
	for {
		select {
		case <-h.client.Done():
			return false
		case <-until:
			return true
		case <-time.After(10 * time.Millisecond):
			h.say("{}")
		}
	}
}

func (h *holding) refuse(status int, code string) {
	h.writer.Header().Set("Content-Type", "application/problem+json")
	h.writer.WriteHeader(status)
	_, _ = h.writer.Write(asJSON(problem(status, code)))
}

func problem(status int, code string) *dibs.Problem {
	return &dibs.Problem{Type: "urn:problem-type:dibs:" + code, Title: code, Status: int64(status), Detail: code, Code: code}
}

func asJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// asked is a claim, and when it came. isCarried: it came with a settlement.
type asked struct {
	session, claimID     string
	at                   time.Time
	isCarried, isRefused bool
}

// playedDibs is a Dibs with sessions: an HTTP server before a fake.
type playedDibs struct {
	fake   *dibstest.Fake
	client *dibs.Client
	// hold answers POST /sessions. Default: the session is held until the client hangs up.
	hold func(*holding)
	// refuse may answer a claim.
	refuse func(claim asked) *dibs.Problem
	// isLost: extends say that the lease is lost.
	isLost func() bool

	mu       sync.Mutex
	holdings []*holding
	claims   []asked
	extends  []time.Time
	// Each settlement, and whether a session was held then.
	settledHeld []bool
}

// play is a played Dibs with so many jobs.
func play(t *testing.T, jobs int) *playedDibs {
	played := &playedDibs{fake: dibstest.New()}
	if jobs > 0 {
		enqueue(t, played.fake, jobs)
	}
	server := httptest.NewServer(played)
	transport := &http.Transport{}
	played.client = &dibs.Client{URL: server.URL, HTTP: &http.Client{Transport: transport}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return played
}

func (p *playedDibs) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if request.URL.Path == "/sessions" {
		p.session(writer, request, body)
		return
	}
	var settled dibs.SettleRequest
	var claim *dibs.ClaimRequest
	switch request.URL.Path {
	case "/jobs/claim":
		claim = &dibs.ClaimRequest{}
		_ = json.Unmarshal(body, claim)
	case "/jobs/settle":
		_ = json.Unmarshal(body, &settled)
		claim = settled.Claim
	}
	refused := p.note(claim, settled)
	if refused != nil && request.URL.Path == "/jobs/claim" {
		(&holding{writer: writer}).refuse(int(refused.Status), refused.Code)
		return
	}
	if len(settled.Extends) > 0 && p.isLost != nil && p.isLost() {
		answer := dibs.SettleResults{}
		for _, item := range settled.Extends {
			answer.Extends = append(answer.Extends, dibs.SettleResult{ID: item.ID, Status: 409, Problem: problem(409, "lease_lost")})
		}
		_, _ = writer.Write(asJSON(answer))
		return
	}
	if refused != nil {
		settled.Claim = nil
		body = asJSON(settled)
	}
	p.forward(writer, request, body, refused)
}

// forward asks the fake. refused is of the claim of a settlement.
func (p *playedDibs) forward(writer http.ResponseWriter, request *http.Request, body []byte, refused *dibs.Problem) {
	request.Body = io.NopCloser(bytes.NewReader(body))
	response, err := p.fake.Client().HTTP.Transport.RoundTrip(request)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	text, _ := io.ReadAll(response.Body)
	if refused != nil {
		var answer dibs.SettleResults
		_ = json.Unmarshal(text, &answer)
		answer.Problem = refused
		text = asJSON(answer)
	}
	writer.WriteHeader(response.StatusCode)
	_, _ = writer.Write(text)
}

func (p *playedDibs) session(writer http.ResponseWriter, request *http.Request, body []byte) {
	var wanted dibs.SessionRequest
	if err := json.Unmarshal(body, &wanted); err != nil {
		panic(err)
	}
	p.mu.Lock()
	one := &holding{n: len(p.holdings) + 1, came: time.Now(), gone: make(chan struct{}), writer: writer, client: request.Context()}
	one.id, one.isResumed = fmt.Sprintf("s-%d", one.n), wanted.Session != nil
	if one.isResumed {
		one.id = *wanted.Session
	}
	if wanted.ResumeSeconds != nil {
		one.resume = *wanted.ResumeSeconds
	}
	one.key = request.Header.Get("Authorization")
	p.holdings = append(p.holdings, one)
	hold := p.hold
	p.mu.Unlock()
	defer close(one.gone)
	if hold != nil {
		hold(one)
		return
	}
	one.open()
	one.beat(nil)
}

func (p *playedDibs) note(claim *dibs.ClaimRequest, settled dibs.SettleRequest) *dibs.Problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(settled.Acks)+len(settled.Nacks)+len(settled.Releases) > 0 {
		p.settledHeld = append(p.settledHeld, slices.ContainsFunc(p.holdings, (*holding).isHeld))
	}
	if len(settled.Extends) > 0 {
		p.extends = append(p.extends, time.Now())
	}
	if claim == nil {
		return nil
	}
	one := asked{at: time.Now(), claimID: *claim.ClaimID, isCarried: settled.Claim != nil}
	if claim.Session != nil {
		one.session = *claim.Session
	}
	var refused *dibs.Problem
	if p.refuse != nil {
		refused = p.refuse(one)
	}
	one.isRefused = refused != nil
	p.claims = append(p.claims, one)
	return refused
}

func (h *holding) isHeld() bool {
	select {
	case <-h.gone:
		return false
	default:
		return true
	}
}

func (p *playedDibs) held() []*holding {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.holdings)
}

func (p *playedDibs) asked() []asked {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.claims)
}

// worker works for this Dibs, with short claims.
func (p *playedDibs) worker(handler dibs.Handler) *dibs.Worker {
	if handler == nil {
		handler = func(context.Context, *dibs.Work) error { return nil }
	}
	return &dibs.Worker{
		Client: p.client, Queues: []string{"mail"}, Wait: 20 * time.Millisecond, Concurrency: 2, Handler: handler,
	}
}

// begin runs the worker until the test ends.
func begin(t *testing.T, worker *dibs.Worker) {
	t.Helper()
	ended := run(worker)
	t.Cleanup(func() {
		worker.StopWithin(0)
		if err := await(t, ended, "the end of Run"); err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
}

// eventually waits until it is so.
func eventually(t *testing.T, what string, isSo func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !isSo(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// claimsWith waits until a claim that comes from now on names this session, or none.
func (p *playedDibs) claimsWith(t *testing.T, session string) {
	t.Helper()
	before := len(p.asked())
	eventually(t, fmt.Sprintf("a claim with the session %q", session), func() bool {
		return slices.ContainsFunc(p.asked()[before:], func(one asked) bool { return one.session == session })
	})
}

func (p *playedDibs) holds(t *testing.T, count int) []*holding {
	t.Helper()
	eventually(t, fmt.Sprintf("%d requests for a session", count), func() bool { return len(p.held()) >= count })
	return p.held()
}
