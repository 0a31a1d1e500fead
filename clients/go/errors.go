package dibs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Error is an answer that is not 2xx: of Dibs or, as its Code http_404 then says, of something before it. Code is for programs, and stable.
type Error struct {
	Code    string
	Status  int
	Problem Problem
	// RetryAfter is what the server asks for, or 0.
	RetryAfter time.Duration
	// It is no problem document of Dibs: a proxy says so.
	isForeign bool
	// The key was accepted a moment ago.
	isKeyInDoubt bool
}

func (e *Error) Error() string { return fmt.Sprintf("dibs: %s (%s)", e.Problem.Detail, e.Code) }

// ConnectionError says that no answer came. What was asked for may have been done.
type ConnectionError struct{ Err error }

func (e *ConnectionError) Error() string { return "dibs: " + ownText(e.Err) }
func (e *ConnectionError) Unwrap() error { return e.Err }

// refusalIn finds the answer of an error. What a *ConnectionError wraps is none: it is of a KeyFunc or a transport, which may ask another
// Dibs.
func refusalIn(err error) (refusal *Error, isRefusal bool) {
	each(err, func(one error) bool {
		refusal, isRefusal = one.(*Error)
		_, isBroken := one.(*ConnectionError)
		return !isRefusal && !isBroken
	})
	return refusal, isRefusal && refusal != nil
}

// IsTemporary tells whether the same request may work a little later: docs/workers.md has the table.
func IsTemporary(err error) bool {
	refusal, isRefusal := refusalIn(err)
	if !isRefusal {
		_, isBroken := find[*ConnectionError](err)
		return isBroken
	}
	switch status := refusal.Status; {
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		return true
	case refusal.isForeign:
		return status != http.StatusMovedPermanently && status != http.StatusPermanentRedirect && !isTooLarge(refusal)
	default:
		return refusal.isKeyInDoubt
	}
}

func isTooLarge(refusal *Error) bool { return refusal.Status == http.StatusRequestEntityTooLarge }

// maySettleLater is IsTemporary for what is done already: what a wrong URL or another version of Dibs answers says nothing of the job.
func maySettleLater(err error) bool {
	refusal, isRefusal := refusalIn(err)
	if isRefusal && (refusal.isForeign || refusal.Code == "route_not_found" || refusal.Status == http.StatusMethodNotAllowed) {
		return !isTooLarge(refusal)
	}
	return IsTemporary(err)
}

// mayBeDone tells whether a request that failed may have counted.
func mayBeDone(err error) bool {
	if refusal, isRefusal := refusalIn(err); isRefusal && !refusal.isForeign {
		return refusal.Status >= 500 && (refusal.Problem.Outcome == nil || *refusal.Problem.Outcome != "not_done")
	}
	return IsTemporary(err)
}

// refusal reads a problem document. A page of something before Dibs is not quoted: it may show the key.
func refusal(response *http.Response, text []byte) *Error {
	said := &Error{Status: response.StatusCode}
	if json.Unmarshal(text, &said.Problem) != nil || !strings.HasPrefix(said.Problem.Type, "urn:problem-type:dibs:") {
		said.isForeign = true
		said.Problem = Problem{
			Type: "about:blank", Code: fmt.Sprintf("http_%d", response.StatusCode), Detail: http.StatusText(response.StatusCode),
		}
	}
	said.Problem.Status = int64(response.StatusCode)
	said.Code = said.Problem.Code
	after, _ := strconv.ParseFloat(response.Header.Get("Retry-After"), 64)
	said.RetryAfter = seconds(after)
	return said
}
