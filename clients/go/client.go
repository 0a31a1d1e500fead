// Package dibs has workers and producers for Dibs, a durable job queue behind a REST API.
package dibs

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client is one Dibs. The zero value is the one on this machine. It may be used by many goroutines.
type Client struct {
	// URL of Dibs. Default: http://127.0.0.1:8080.
	URL string
	// Key is an access key or token.
	Key string
	// HTTP sends the requests. Default: a client that keeps connections.
	HTTP *http.Client
	// Timeout for an answer, beside what a request asks Dibs to wait. Default: 15 s.
	Timeout time.Duration
}

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

func (e *ConnectionError) Error() string { return "dibs: " + e.Err.Error() }
func (e *ConnectionError) Unwrap() error { return e.Err }

// IsTemporary tells whether the same request may work a little later.
func IsTemporary(err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status >= 500 || refusal.Status == 429 || refusal.Status == 408
	}
	var broken *ConnectionError
	return errors.As(err, &broken)
}

// mayBeDone tells whether a request that failed may have counted.
func mayBeDone(err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		return refusal.Status >= 500 && (refusal.Problem.Outcome == nil || *refusal.Problem.Outcome != "not_done")
	}
	return IsTemporary(err)
}

type call struct {
	method, path string
	body         any
	query        url.Values
	header       url.Values
	wait         time.Duration
}

func newCall(method, path string, body any) *call {
	c := &call{method: method, path: path, body: body, query: url.Values{}, header: url.Values{}}
	if claim, ok := body.(ClaimRequest); ok && claim.WaitSeconds != nil {
		c.wait = seconds(*claim.WaitSeconds)
	}
	return c
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func put[T any](values url.Values, name string, value *T) {
	if value != nil {
		values.Set(name, fmt.Sprint(*value))
	}
}

var shared = &http.Client{Transport: func() http.RoundTripper {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 16
	return transport
}()}

func (c *Client) do(ctx context.Context, call *call, answer any) error {
	base, timeout, client := strings.TrimRight(c.URL, "/"), c.Timeout, c.HTTP
	if base == "" {
		base = "http://127.0.0.1:8080"
	}
	if timeout == 0 {
		timeout = 15 * time.Second
	}
	if client == nil {
		client = shared
	}
	if wait, err := strconv.ParseFloat(call.query.Get("wait_seconds"), 64); err == nil {
		call.wait = seconds(wait)
	}
	if wait, ok := strings.CutPrefix(call.header.Get("Prefer"), "wait="); ok {
		if n, err := strconv.Atoi(wait); err == nil {
			call.wait = seconds(float64(n))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout+call.wait)
	defer cancel()
	var body io.Reader
	if call.body != nil {
		text, err := json.Marshal(call.body)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	target := base + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, body)
	if err != nil {
		return err
	}
	for name, values := range call.header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.Key)
	}
	// The transport repeats a request by itself when it has this header, or when it never arrived. Only the worker repeats.
	response, err := client.Do(request)
	if err != nil {
		return &ConnectionError{err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return &ConnectionError{err}
	}
	if response.StatusCode >= 300 {
		return refusal(response, text)
	}
	if answer == nil || len(text) == 0 {
		return nil
	}
	if into, ok := answer.(*string); ok {
		*into = string(text)
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return &ConnectionError{fmt.Errorf("the answer of %s is not what was expected: %w", call.path, err)}
	}
	return nil
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

const (
	backoffBase    = 100 * time.Millisecond
	backoffLongest = 2 * time.Second
)

// backoff is how long to wait after this many failures in a row: a random share of a time that doubles (full jitter), so that many
// workers do not come back in step.
func backoff(failures int, err error) time.Duration {
	most := backoffBase << min(failures, 10)
	if most > backoffLongest {
		most = backoffLongest
	}
	var refused *Error
	if errors.As(err, &refused) && refused.RetryAfter > 0 {
		return refused.RetryAfter + time.Duration(rand.Float64()*float64(min(most, refused.RetryAfter)))
	}
	return time.Duration(rand.Float64() * float64(most))
}

func newID() string {
	random := make([]byte, 16)
	_, _ = crand.Read(random)
	return hex.EncodeToString(random)
}

// Ptr makes a pointer of a value, for optional fields.
func Ptr[T any](value T) *T { return &value }
