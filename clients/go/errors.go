package dibs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Error is an answer of Dibs that is not 2xx. Code is for programs, and stable.
type Error struct {
	Code    string
	Status  int
	Problem Problem
	// RetryAfter is what the server asks for, or 0.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("dibs: %s (%s)", e.Problem.Detail, e.Code) }

// ConnectionError says that no answer came. What was asked for may have been done.
type ConnectionError struct{ Err error }

// userinfo of a URL may be a password: of Dibs, or of a proxy that the environment names.
var userinfo = regexp.MustCompile(`//[^/\s"]*@`)

func (e *ConnectionError) Error() string {
	return "dibs: " + userinfo.ReplaceAllLiteralString(ownText(e.Err), "//…@")
}
func (e *ConnectionError) Unwrap() error { return e.Err }

// IsTemporary tells whether the same request may work a little later.
func IsTemporary(err error) bool {
	if refusal, isRefusal := find[*Error](err); isRefusal {
		return refusal.Status >= 500 || refusal.Status == 429 || refusal.Status == 408
	}
	_, isBroken := find[*ConnectionError](err)
	return isBroken
}

// mayBeDone tells whether a request that failed may have counted.
func mayBeDone(err error) bool {
	if refusal, isRefusal := find[*Error](err); isRefusal {
		return refusal.Status >= 500 && (refusal.Problem.Outcome == nil || *refusal.Problem.Outcome != "not_done")
	}
	return IsTemporary(err)
}

// refusal reads a problem document. Something before Dibs may have answered: then there is none.
func refusal(response *http.Response, text []byte) error {
	problem := Problem{}
	if json.Unmarshal(text, &problem) != nil || problem.Code == "" {
		problem = Problem{Code: fmt.Sprintf("http_%d", response.StatusCode), Detail: http.StatusText(response.StatusCode)}
	}
	problem.Status = int64(response.StatusCode)
	after, _ := strconv.ParseFloat(response.Header.Get("Retry-After"), 64)
	return &Error{Code: problem.Code, Status: response.StatusCode, Problem: problem, RetryAfter: seconds(after)}
}
