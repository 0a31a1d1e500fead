package dibs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dibs.example/dibs"
	"dibs.example/dibs/dibstest"
)

// waiting is a handler that waits for release, and what its contexts ended with.
func waiting() (handler dibs.Handler, begun chan string, causes chan error, release chan struct{}) {
	begun, causes, release = make(chan string, 10), make(chan error, 10), make(chan struct{})
	return func(ctx context.Context, job *dibs.Work) error {
		begun <- job.ID
		select {
		case <-ctx.Done():
			causes <- context.Cause(ctx)
			return context.Cause(ctx)
		case <-release:
			return nil
		}
	}, begun, causes, release
}

// quiet fails the test if there is a line in the log, or a request is told to be tried again.
func quiet(t *testing.T, worker *dibs.Worker) *dibs.Worker {
	worker.Observe = func(event dibs.Event) {
		if event.Type == "retrying" || event.Type == "refused" || event.Type == "lost" {
			t.Errorf("it was told: %s of %s: %v", event.Type, event.Request, event.Err)
		}
	}
	return worker
}

func TestEachClaimNamesTheSessionFromTheFirstOneOn(t *testing.T) {
	played := play(t, 3)
	worker := quiet(t, played.worker(nil))
	worker.Resume = 7 * time.Second
	begin(t, worker)
	played.claimsWith(t, "s-1")
	if err := played.fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	for _, one := range played.asked() {
		if one.session != "s-1" {
			t.Errorf("a claim named the session %q", one.session)
		}
	}
	if held := played.held(); len(held) != 1 || held[0].isResumed || held[0].resume != 7 {
		t.Errorf("the session was asked for: %+v", held)
	}
}

func TestWithoutSettingsASessionLastsFiveSecondsWithoutItsConnection(t *testing.T) {
	played := play(t, 0)
	begin(t, played.worker(nil))
	if resume := played.holds(t, 1)[0].resume; resume != 5 {
		t.Errorf("got %v", resume)
	}
}

func TestAWorkerWithNoSessionAsksForNone(t *testing.T) {
	played := play(t, 1)
	worker := played.worker(nil)
	worker.NoSession = true
	ended := run(worker)
	if err := played.fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	played.claimsWith(t, "")
	worker.Stop()
	if err := await(t, ended, "the end of Run"); err != nil || len(played.held()) != 0 {
		t.Errorf("got %v, after %d requests for a session", err, len(played.held()))
	}
}

func TestAWrongResumeIsRefused(t *testing.T) {
	handler := func(context.Context, *dibs.Work) error { return nil }
	for _, resume := range []time.Duration{-1, math.MinInt64, time.Minute + 1, math.MaxInt64} {
		worker := &dibs.Worker{Client: dibstest.New().Client(), Handler: handler, Resume: resume}
		if err := await(t, run(worker), "the end of Run"); !isNeither(err) || !strings.Contains(err.Error(), "Resume") {
			t.Errorf("%v: got %v", resume, err)
		}
	}
}

func TestWithAFakeTheFirstClaimWaitsForNoSession(t *testing.T) {
	fake := dibstest.New()
	enqueue(t, fake, 1)
	worker := &dibs.Worker{Handler: func(context.Context, *dibs.Work) error { return nil }}
	worker.LetClaimsWait(time.Minute, time.Minute)
	began := time.Now()
	finish(t, fake, worker)
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAProxyThatKeepsTheFirstLineBackCostsTheSessionAndTheNextTryIsAMinuteLater(t *testing.T) {
	if dibs.UsualRest != time.Minute {
		t.Errorf("it is %v", dibs.UsualRest)
	}
	played := play(t, 1)
	played.hold = func(one *holding) { <-one.client.Done() }
	worker := quiet(t, played.worker(nil))
	worker.ShortenSession(100*time.Millisecond, time.Minute, 500*time.Millisecond)
	begin(t, worker)
	held := played.holds(t, 3)
	for i, one := range held[1:] {
		if pause := one.came.Sub(held[i].came); pause < 590*time.Millisecond || one.isResumed {
			t.Errorf("attempt %d came after %v, for the session %s", i+2, pause, one.id)
		}
	}
	for _, one := range played.asked() {
		if one.session != "" {
			t.Errorf("a claim named the session %q", one.session)
		}
	}
	if job := played.fake.Jobs("mail")[0]; job.State != "completed" {
		t.Errorf("the job is %s", job.State)
	}
}

func TestTheFirstClaimWaitsASecondForTheSessionAtMost(t *testing.T) {
	played := play(t, 0)
	played.hold = func(one *holding) {
		for len(played.asked()) == 0 && one.client.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		one.open()
		one.beat(nil)
	}
	began := time.Now()
	begin(t, quiet(t, played.worker(nil)))
	played.claimsWith(t, "s-1")
	first := played.asked()[0]
	if after := first.at.Sub(began); first.session != "" || after < 990*time.Millisecond || after > 4*time.Second {
		t.Errorf("the first claim came after %v, with the session %q", after, first.session)
	}
}

func TestASessionWhoseConnectionIsCutIsResumedAtOnceAndClaimsGoOnNamingIt(t *testing.T) {
	played := play(t, 0)
	cut := make(chan struct{})
	played.hold = func(one *holding) {
		one.open()
		if one.n == 1 && one.beat(cut) {
			panic(http.ErrAbortHandler)
		}
		one.beat(nil)
	}
	begin(t, quiet(t, played.worker(nil)))
	played.claimsWith(t, "s-1")
	began := time.Now()
	close(cut)
	second := played.holds(t, 2)[1]
	if !second.isResumed || second.id != "s-1" || second.came.Sub(began) > 2*time.Second {
		t.Errorf("after %v, it asked for %s", second.came.Sub(began), second.id)
	}
	played.claimsWith(t, "s-1")
	played.claimsWith(t, "s-1")
}

func TestAReplicaThatStopsLeavesTheSessionToAnother(t *testing.T) {
	played := play(t, 0)
	played.hold = func(one *holding) {
		one.open()
		if one.n == 1 {
			one.say(`{"lost": "stopping"}`)
			return
		}
		one.beat(nil)
	}
	begin(t, quiet(t, played.worker(nil)))
	if second := played.holds(t, 2)[1]; !second.isResumed || second.id != "s-1" {
		t.Errorf("it asked for %s", second.id)
	}
	played.claimsWith(t, "s-1")
}

func TestASessionThatFallsSilentIsResumed(t *testing.T) {
	played := play(t, 0)
	played.hold = func(one *holding) {
		one.open()
		if one.n == 1 {
			<-one.client.Done()
			return
		}
		one.beat(nil)
	}
	worker := quiet(t, played.worker(nil))
	worker.ShortenSession(5*time.Second, 2*time.Second, time.Minute)
	begin(t, worker)
	held := played.holds(t, 2)
	if after := held[1].came.Sub(held[0].came); !held[1].isResumed || held[1].id != "s-1" || after < 1990*time.Millisecond {
		t.Errorf("after %v, it asked for %s", after, held[1].id)
	}
	played.claimsWith(t, "s-1")
	time.Sleep(2500 * time.Millisecond)
	if count := len(played.held()); count != 2 {
		t.Errorf("a session with lines was asked for again: %d requests", count)
	}
}

func TestClaimsWaitWhileASessionIsResumedThatWasSteady(t *testing.T) {
	for _, head := range []time.Duration{20 * time.Second, 300 * time.Millisecond} {
		t.Run(head.String(), func(t *testing.T) {
			t.Parallel()
			played := play(t, 0)
			cut := make(chan struct{})
			played.hold = func(one *holding) {
				if one.n > 1 {
					time.Sleep(3 * time.Second)
				}
				one.open()
				if one.n == 1 && one.beat(cut) {
					return
				}
				one.beat(nil)
			}
			worker := quiet(t, played.worker(nil))
			worker.LetClaimsWait(head, time.Nanosecond)
			begin(t, worker)
			played.claimsWith(t, "s-1")
			close(cut)
			played.holds(t, 2)
			time.Sleep(3200 * time.Millisecond)
			played.claimsWith(t, "s-1")
			without := slices.IndexFunc(played.asked(), func(one asked) bool { return one.session == "" })
			if (without < 0) != (head > time.Second) {
				t.Errorf("claim %d of %d named no session", without, len(played.asked()))
			}
		})
	}
}

func TestWhileItsSessionIsAwayClaimsGoWithoutIt(t *testing.T) {
	played := play(t, 0)
	cut, back := make(chan struct{}), make(chan struct{})
	played.hold = func(one *holding) {
		if one.n > 1 {
			<-back
		}
		one.open()
		if one.n == 1 && one.beat(cut) {
			return
		}
		one.beat(nil)
	}
	begin(t, quiet(t, played.worker(nil)))
	played.claimsWith(t, "s-1")
	close(cut)
	played.claimsWith(t, "")
	close(back)
	played.claimsWith(t, "s-1")
}

// afterRefusal is the first claim that was refused, and the next one.
func (p *playedDibs) afterRefusal(t *testing.T) (refused, next asked) {
	t.Helper()
	eventually(t, "a claim after one that was refused", func() bool {
		claims := p.asked()
		i := slices.IndexFunc(claims, func(one asked) bool { return one.isRefused })
		if i < 0 || i+1 >= len(claims) {
			return false
		}
		refused, next = claims[i], claims[i+1]
		return true
	})
	return refused, next
}

func TestAClaimThatIsRefusedForItsSessionGoesAgainAtOnceWithoutItAndANewSessionIsOpened(t *testing.T) {
	played := play(t, 1)
	handler, begun, causes, _ := waiting()
	var isGone atomic.Bool
	played.isLost = isGone.Load
	played.refuse = func(claim asked) *dibs.Problem {
		if claim.session == "s-1" && isGone.Load() {
			return problem(404, "session_not_found")
		}
		return nil
	}
	worker := played.worker(handler)
	worker.Observe = func(event dibs.Event) {
		if event.Type == "retrying" {
			t.Errorf("it was told: %s: %v", event.Request, event.Err)
		}
	}
	begin(t, worker)
	await(t, begun, "the job")
	isGone.Store(true)
	if cause := await(t, causes, "the end of the job"); cause != dibs.ErrLeaseLost {
		t.Errorf("the handler was told %v", cause)
	}
	refused, next := played.afterRefusal(t)
	if next.session == "s-1" || next.claimID == refused.claimID || next.at.Sub(refused.at) > 2*time.Second {
		t.Errorf("after %+v came %+v", refused, next)
	}
	held := played.holds(t, 2)
	if held[1].isResumed {
		t.Errorf("it resumed %s", held[1].id)
	}
	await(t, held[0].gone, "the end of the old connection")
	played.claimsWith(t, "s-2")
}

func TestAClaimOfASettlementThatIsRefusedForItsSessionSpoilsNoSettlement(t *testing.T) {
	played := play(t, 20)
	played.refuse = func(claim asked) *dibs.Problem {
		if claim.session == "s-1" && claim.isCarried {
			return problem(404, "session_not_found")
		}
		return nil
	}
	begin(t, quiet(t, played.worker(nil)))
	refused, next := played.afterRefusal(t)
	if next.session == "s-1" || next.claimID == refused.claimID || next.at.Sub(refused.at) > 2*time.Second {
		t.Errorf("after %+v came %+v", refused, next)
	}
	if held := played.holds(t, 2); held[1].isResumed {
		t.Errorf("it resumed %s", held[1].id)
	}
	if err := played.fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	for _, job := range played.fake.Jobs("mail") {
		if job.Deliveries != 1 || job.State != "completed" {
			t.Errorf("got %+v", job)
		}
	}
}

func TestWhenDibsEndsTheSessionItsJobsAreExtendedAtOnceAndAnotherSessionIsOpened(t *testing.T) {
	for name, say := range map[string]func(*holding){
		"by a line": func(one *holding) { one.say(`{"lost": "session_ended"}`) },
		"by a refusal": func(one *holding) {
			if one.isResumed {
				one.refuse(404, "session_not_found")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played := play(t, 1)
			handler, begun, causes, _ := waiting()
			end := make(chan struct{})
			var isGone atomic.Bool
			played.isLost = isGone.Load
			played.hold = func(one *holding) {
				switch {
				case one.isResumed:
					say(one)
				case one.n == 1:
					one.open()
					if one.beat(end) && name == "by a line" {
						say(one)
					}
				default:
					one.open()
					one.beat(nil)
				}
			}
			begin(t, played.worker(handler))
			await(t, begun, "the job")
			if played.asked()[0].session != "s-1" {
				t.Error("the job was claimed without the session")
			}
			began := time.Now()
			isGone.Store(true)
			close(end)
			// Its lease is of 30 s: else it is extended after 8 s.
			if cause := await(t, causes, "the end of the job"); cause != dibs.ErrLeaseLost || time.Since(began) > 5*time.Second {
				t.Errorf("after %v the handler was told %v", time.Since(began), cause)
			}
			eventually(t, "another session", func() bool {
				held := played.held()
				return !held[len(held)-1].isResumed && len(held) > 1
			})
			held := played.held()
			played.claimsWith(t, held[len(held)-1].id)
		})
	}
}

func TestAnOlderDibsIsWorkedWithWithoutASession(t *testing.T) {
	for _, refusal := range []struct {
		status int
		code   string
	}{{404, "route_not_found"}, {400, "invalid_request"}, {403, "forbidden"}, {409, "too_many_sessions"}, {405, "method_not_allowed"}} {
		t.Run(refusal.code, func(t *testing.T) {
			t.Parallel()
			played := play(t, 3)
			played.hold = func(one *holding) { one.refuse(refusal.status, refusal.code) }
			worker := quiet(t, played.worker(nil))
			worker.ShortenSession(time.Second, time.Second, 300*time.Millisecond)
			begin(t, worker)
			if err := played.fake.WaitUntilDone(within(t)); err != nil {
				t.Fatal(err)
			}
			played.claimsWith(t, "")
			held := played.holds(t, 2)
			if pause := held[1].came.Sub(held[0].came); pause < 290*time.Millisecond || held[1].isResumed {
				t.Errorf("it asked again after %v", pause)
			}
		})
	}
}

func TestAFailureThatPassesIsWaitedOutAndTheSameSessionIsResumed(t *testing.T) {
	played := play(t, 0)
	played.hold = func(one *holding) {
		switch one.n {
		case 1:
			one.open()
		case 2:
			one.writer.Header().Set("Retry-After", "0.3")
			one.refuse(503, "unavailable")
		case 3:
			panic(http.ErrAbortHandler)
		default:
			one.open()
			one.beat(nil)
		}
	}
	begin(t, quiet(t, played.worker(nil)))
	held := played.holds(t, 4)
	for _, one := range held[1:] {
		if one.id != "s-1" {
			t.Errorf("attempt %d was for %s", one.n, one.id)
		}
	}
	if pause := held[2].came.Sub(held[1].came); pause < 290*time.Millisecond {
		t.Errorf("it did not wait for Retry-After, but %v", pause)
	}
	played.claimsWith(t, "s-1")
}

func TestASessionWhoseKeyWasReplacedIsResumedWithTheNextOne(t *testing.T) {
	played := play(t, 0)
	var calls atomic.Int32
	played.hold = func(one *holding) {
		if one.n > 1 && one.key == "Bearer key1" {
			one.refuse(401, "unauthorized")
			return
		}
		one.open()
		if one.n == 1 {
			one.say(`{"lost": "revoked"}`)
			return
		}
		one.beat(nil)
	}
	worker := quiet(t, played.worker(nil))
	worker.Client.KeyFunc = func(context.Context) (string, error) { return fmt.Sprintf("key%d", calls.Add(1)), nil }
	begin(t, worker)
	if second := played.holds(t, 2)[1]; second.id != "s-1" || second.key == "Bearer key1" {
		t.Errorf("it asked for %s with %s", second.id, second.key)
	}
	played.claimsWith(t, "s-1")
}

func TestASessionWhoseKeyIsRevokedIsNoHurry(t *testing.T) {
	played := play(t, 0)
	played.hold = func(one *holding) {
		if one.n > 1 {
			one.refuse(401, "unauthorized")
			return
		}
		one.open()
		one.say(`{"lost": "revoked"}`)
	}
	begin(t, quiet(t, played.worker(nil)))
	played.holds(t, 2)
	time.Sleep(2500 * time.Millisecond)
	if count := len(played.held()); count > 3 {
		t.Errorf("it asked %d times", count)
	}
}

func TestASessionWithJobsIsResumedAgainAndAgainWhileAProxyKeepsLinesBack(t *testing.T) {
	played := play(t, 1)
	handler, begun, _, release := waiting()
	cut := make(chan struct{})
	played.hold = func(one *holding) {
		if one.n == 1 {
			one.open()
			one.beat(cut)
			return
		}
		<-one.client.Done()
	}
	worker := quiet(t, played.worker(handler))
	worker.ShortenSession(200*time.Millisecond, time.Minute, 4*time.Second)
	begin(t, worker)
	await(t, begun, "the job")
	close(cut)
	held := played.holds(t, 5)
	for i, one := range held[2:] {
		if pause := one.came.Sub(held[i+1].came); one.id != "s-1" || pause < 100*time.Millisecond || pause > 3*time.Second {
			t.Errorf("attempt %d came after %v, for %s", one.n, pause, one.id)
		}
	}
	played.claimsWith(t, "")
	close(release)
	if err := played.fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	count := len(played.held())
	if last := played.holds(t, count+1)[count]; last.isResumed {
		t.Errorf("after the job was done, it resumed %s", last.id)
	}
}

func TestASessionThatIsCutAgainAndAgainIsNoHurry(t *testing.T) {
	played := play(t, 1)
	worker := played.worker(nil)
	// It is for whole answers, so each one of a session is cut.
	worker.Client.HTTP.Timeout = 100 * time.Millisecond
	worker.Wait = 10 * time.Millisecond
	ended := run(worker)
	if err := played.fake.WaitUntilDone(within(t)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if count := len(played.held()); count < 2 || count > 12 {
		t.Errorf("it asked %d times in 3 s", count)
	}
	worker.Stop()
	if err := await(t, ended, "the end of Run"); err != nil {
		t.Error(err)
	}
}

func TestTheSessionIsHeldUntilTheLastSettlementAndNotLonger(t *testing.T) {
	played := play(t, 1)
	handler, begun, _, release := waiting()
	worker := quiet(t, played.worker(handler))
	ended := run(worker)
	await(t, begun, "the job")
	go worker.Stop()
	time.Sleep(200 * time.Millisecond)
	close(release)
	if err := await(t, ended, "the end of Run"); err != nil {
		t.Error(err)
	}
	if !slices.Equal(played.settledHeld, []bool{true}) {
		t.Errorf("a session was held at each settlement: %v", played.settledHeld)
	}
	held := played.held()
	await(t, held[0].gone, "the end of the connection")
	if len(held) != 1 {
		t.Errorf("it asked %d times", len(held))
	}
}

func TestARunLeavesNoGoroutineOfItsSessionBehind(t *testing.T) {
	for name, hold := range map[string]func(*holding){
		"held":      nil,
		"kept back": func(one *holding) { <-one.client.Done() },
		"refused":   func(one *holding) { one.refuse(404, "route_not_found") },
		"failing":   func(one *holding) { one.refuse(503, "unavailable") },
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			played := play(t, 1)
			played.hold = hold
			worker := played.worker(nil)
			ended := run(worker)
			played.holds(t, 1)
			if err := played.fake.WaitUntilDone(within(t)); err != nil {
				t.Fatal(err)
			}
			worker.Stop()
			if err := await(t, ended, "the end of Run"); err != nil {
				t.Error(err)
			}
			stacks := make([]byte, 1<<20)
			if text := string(stacks[:runtime.Stack(stacks, true)]); strings.Contains(text, "dibs.(*keeper)") {
				t.Errorf("the keeper goes on:\n%s", text)
			}
			// What is left is the server, with the connections that the transport keeps.
			worker.Client.HTTP.CloseIdleConnections()
			eventually(t, "as few goroutines as before", func() bool { return runtime.NumGoroutine() <= before+1 })
		})
	}
}

func TestARepeatedClaimNamesTheSessionThatItNamedFirst(t *testing.T) {
	for _, isHeldFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("held at first: %v", isHeldFirst), func(t *testing.T) {
			t.Parallel()
			played := play(t, 0)
			change := make(chan struct{})
			played.hold = func(one *holding) {
				switch {
				case isHeldFirst && one.n == 1:
					one.open()
					one.beat(change)
					return
				case isHeldFirst:
					<-one.client.Done()
					return
				}
				<-change
				one.open()
				one.beat(nil)
			}
			played.refuse = func(claim asked) *dibs.Problem {
				select {
				case <-change:
					if len(played.claims) < 8 {
						return problem(503, "unavailable")
					}
					return nil
				default:
					return problem(503, "unavailable")
				}
			}
			begin(t, played.worker(nil))
			eventually(t, "two claims", func() bool { return len(played.asked()) >= 2 })
			close(change)
			eventually(t, "an answer", func() bool { return len(played.asked()) >= 10 })
			claims := played.asked()
			for _, one := range claims[:9] {
				if one.claimID != claims[0].claimID || one.session != claims[0].session {
					t.Errorf("%+v was repeated as %+v", claims[0], one)
				}
			}
			if (claims[0].session == "s-1") != isHeldFirst || (claims[9].session == "s-1") == isHeldFirst {
				t.Errorf("the first claim named %q, the next one %q", claims[0].session, claims[9].session)
			}
		})
	}
}

func TestTheKeyOfASessionIsReadAgainAndAskedForAsThatOfOtherRequests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	played := play(t, 0)
	cut := make(chan struct{})
	played.hold = func(one *holding) {
		switch {
		case one.n == 1:
			one.open()
			one.beat(cut)
		case one.key != "Bearer new":
			one.refuse(401, "unauthorized")
		default:
			one.open()
			one.beat(nil)
		}
	}
	worker := quiet(t, played.worker(nil))
	worker.Client.KeyFile = file
	begin(t, worker)
	played.claimsWith(t, "s-1")
	if err := os.WriteFile(file, []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	close(cut)
	held := played.holds(t, 3)
	if held[1].key != "Bearer old" || held[2].key != "Bearer new" || held[2].id != "s-1" || held[2].came.Sub(held[1].came) > 10*time.Second {
		t.Errorf("it asked with %s and %s", held[1].key, held[2].key)
	}
	played.claimsWith(t, "s-1")

	var calls atomic.Int32
	other := play(t, 0)
	other.hold = func(one *holding) {
		one.open()
		if one.n > 1 {
			one.beat(nil)
		}
	}
	worker = quiet(t, other.worker(nil))
	worker.Client.KeyFunc = func(context.Context) (string, error) { return fmt.Sprintf("key%d", calls.Add(1)), nil }
	begin(t, worker)
	if held := other.holds(t, 2); held[0].key == held[1].key {
		t.Errorf("it asked twice with %s", held[0].key)
	}
}

// oddBody is an answer whose body does what no body should.
type oddBody struct {
	read  func([]byte) (int, error)
	close func() error
}

func (b oddBody) Read(into []byte) (int, error) { return b.read(into) }

func (b oddBody) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

func TestWhateverAnswersForASessionEndsNoWorker(t *testing.T) {
	first := []byte(`{"session": "s-1", "resume_seconds": 5}` + "\n")
	endless := func(into []byte) (int, error) {
		for i := range into {
			into[i] = 'x'
		}
		return len(into), nil
	}
	whole := func(text string) func(*http.Request) (*http.Response, error) {
		return func(request *http.Request) (*http.Response, error) { return answer(request, 200, nil, text), nil }
	}
	odd := func(read func([]byte) (int, error)) func(*http.Request) (*http.Response, error) {
		return func(request *http.Request) (*http.Response, error) {
			response := answer(request, 200, nil, "")
			response.Body = oddBody{read: read}
			return response, nil
		}
	}
	for name, act := range map[string]func(*http.Request) (*http.Response, error){
		"a transport that panics": func(*http.Request) (*http.Response, error) { panic("transport") },
		"a transport that fails":  func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") },
		"a transport that exits":  func(*http.Request) (*http.Response, error) { runtime.Goexit(); return nil, nil },
		"a body that panics":      odd(func([]byte) (int, error) { panic("body") }),
		"a body that lies":        odd(func([]byte) (int, error) { return -1, nil }),
		"a body that has nothing": odd(func([]byte) (int, error) { return 0, nil }),
		"a line without an end":   odd(endless),
		"a body that panics when it is over": func(request *http.Request) (*http.Response, error) {
			response := answer(request, 200, nil, "")
			response.Body = oddBody{read: func([]byte) (int, error) { return 0, io.EOF }, close: func() error { panic("close") }}
			return response, nil
		},
		"a session, and then a line without an end": func(request *http.Request) (*http.Response, error) {
			response := answer(request, 200, nil, "")
			response.Body = io.NopCloser(io.MultiReader(strings.NewReader(string(first)), oddBody{read: endless}))
			return response, nil
		},
		"nothing":               whole(""),
		"a page":                whole("<html>"),
		"null":                  whole("null\n"),
		"a list":                whole("[]\n"),
		"a number as a session": whole(`{"session": 7}` + "\n"),
		"an empty session":      whole(`{"session": ""}` + "\n"),
		"half a line":           whole(`{"session": "s-`),
		"a page after a line":   whole(string(first) + "<html>"),
		"a loss of all kinds":   whole(string(first) + `{"lost": "another"}` + "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := dibstest.New()
			enqueue(t, fake, 3)
			var tries atomic.Int32
			client := answering(func(request *http.Request) (*http.Response, error) {
				if request.URL.Path == "/sessions" {
					tries.Add(1)
					return act(request)
				}
				return fake.Client().HTTP.Transport.RoundTrip(request)
			})
			worker := quiet(t, &dibs.Worker{Client: client, Queues: []string{"mail"}, Wait: 10 * time.Millisecond, Handler: func(context.Context, *dibs.Work) error { return nil }})
			began := time.Now()
			begin(t, worker)
			if err := fake.WaitUntilDone(within(t)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if most := 12 + time.Since(began)/time.Second; time.Duration(tries.Load()) > most {
				t.Errorf("it asked %d times", tries.Load())
			}
		})
	}
}

func TestASessionWhoseTransportEndsItsGoroutineIsAskedForAgainAfterARest(t *testing.T) {
	for name, end := range map[string]func(*http.Request) *http.Response{
		"at once": func(*http.Request) *http.Response { runtime.Goexit(); return nil },
		"in the body": func(request *http.Request) *http.Response {
			response := answer(request, 200, nil, "")
			first := strings.NewReader(`{"session": "s-0", "resume_seconds": 5}` + "\n")
			response.Body = io.NopCloser(io.MultiReader(first, oddBody{read: func([]byte) (int, error) { runtime.Goexit(); return 0, nil }}))
			return response
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played := play(t, 3)
			transport := played.client.HTTP.Transport
			var tries atomic.Int32
			played.client.HTTP = &http.Client{Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
				if request.URL.Path == "/sessions" && tries.Add(1) <= 2 {
					return end(request), nil
				}
				return transport.RoundTrip(request)
			})}
			worker := quiet(t, played.worker(nil))
			worker.ShortenSession(10*time.Second, 10*time.Second, 10*time.Millisecond)
			begin(t, worker)
			held := played.holds(t, 1)
			played.claimsWith(t, held[0].id)
			if err := played.fake.WaitUntilDone(within(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}
