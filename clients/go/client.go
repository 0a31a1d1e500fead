// Package dibs has workers and producers for Dibs, a durable job queue behind a REST API.
package dibs

import (
	"bufio"
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
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
	// KeyFunc gives the key in place of Key. It is asked before each request, so that a new one counts at once. When it fails, the
	// request fails as one that no answer came to. Many goroutines may call it. It should end with its context.
	KeyFunc func(context.Context) (string, error)
	// KeyFile has the key, in place of Key. It is read again when its key is refused, so that a new one counts without a restart.
	KeyFile string
	// HTTP sends the requests. Default: a client that keeps connections.
	HTTP *http.Client
	// Timeout for an answer, beside what a request asks Dibs to wait. Default: 15 s.
	Timeout time.Duration

	standing keyStanding
	file     keyFile
}

// ClientFromEnv is the Dibs of DIBS_URL, with the key of DIBS_KEY, or of the file DIBS_KEY_FILE.
func ClientFromEnv() *Client {
	return &Client{URL: os.Getenv("DIBS_URL"), Key: os.Getenv("DIBS_KEY"), KeyFile: os.Getenv("DIBS_KEY_FILE")}
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
	var claim *ClaimRequest
	switch body := body.(type) {
	case ClaimRequest:
		claim = &body
	case SettleRequest:
		claim = body.Claim
	}
	if claim != nil && claim.WaitSeconds != nil {
		c.wait = seconds(*claim.WaitSeconds)
	}
	return c
}

func put[T any](values url.Values, name string, value *T) {
	if value != nil {
		values.Set(name, fmt.Sprint(*value))
	}
}

// do sends a request. What keeps it from being sent does not pass: the error is neither an *Error nor a *ConnectionError.
func (c *Client) do(ctx context.Context, call *call, answer any) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	limit := orDefault(c.Timeout, 15*time.Second) + call.patience()
	whole, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	request, err := c.request(whole, call)
	if err != nil {
		return err
	}
	key := keyIn(request)
	// The transport repeats a request by itself when it has an Idempotency-Key, or when it never arrived. Only the worker repeats.
	text, response, err := exchange(c.sender(), request)
	if err != nil && whole.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", limit, err)
	}
	if err != nil {
		return call.broken(err)
	}
	if c.isRenewed(key, response) {
		return c.do(ctx, call, answer)
	}
	if response.StatusCode >= 300 {
		return c.refused(response, text)
	}
	if into, ok := answer.(*string); ok {
		*into = string(text)
	} else if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			return &ConnectionError{fmt.Errorf("the answer of %s %s is not of Dibs: %w", call.method, call.path, err)}
		}
	}
	if needsKey := call.path != "/healthz" && call.path != "/readyz" && call.path != "/version"; needsKey {
		c.standing.accepted()
	}
	return nil
}

// mostLine bounds a line of an answer that goes on.
const mostLine = 64 << 10

// lines sends a request whose answer goes on, and tells each line of it, until tell fails. It has no time limit but that of ctx, and
// returns why the answer is over: never nil. It says nothing of the standing of the key: the next requests may have another one.
func (c *Client) lines(ctx context.Context, call *call, tell func([]byte) error) error {
	if err := c.check(ctx); err != nil {
		return err
	}
	request, err := c.request(ctx, call)
	if err != nil {
		return err
	}
	key := keyIn(request)
	response, err := send(c.sender(), request)
	if err != nil {
		return call.broken(err)
	}
	if response.StatusCode >= 300 {
		text, err := readAll(ctx, response)
		switch {
		case err != nil:
			return call.broken(err)
		case c.isRenewed(key, response):
			return c.lines(ctx, call, tell)
		}
		return c.refused(response, text)
	}
	defer func() { _ = guarded(response.Body.Close) }()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, mostLine)
	for {
		isThere := false
		err := guarded(func() error {
			isThere = lines.Scan()
			return lines.Err()
		})
		if err == nil && !isThere {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return call.broken(err)
		}
		if err := tell(lines.Bytes()); err != nil {
			return err
		}
	}
}

func (c *Client) check(ctx context.Context) error {
	switch {
	case c == nil:
		return errors.New("dibs: there is no Client")
	case ctx == nil:
		return errors.New("dibs: the context is nil")
	case c.Timeout < 0:
		return errors.New("dibs: Timeout must not be negative")
	}
	return nil
}

func (c *Client) sender() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return shared()
}

// isRenewed tells whether this key was refused, and its file has another one by now.
func (c *Client) isRenewed(key string, response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized && c.KeyFile != "" && c.file.isRenewed(c.KeyFile, key)
}

// broken: no answer came, or only a part of it.
func (c *call) broken(err error) error {
	return &ConnectionError{fmt.Errorf("%s %s: %w", c.method, c.path, err)}
}

// refused: a key that was accepted may have been rotated. The next one may be on its way.
func (c *Client) refused(response *http.Response, text []byte) error {
	said := refusal(response, text)
	if said.Status == http.StatusUnauthorized && !said.isForeign && c.standing.refused() {
		said.isKeyInDoubt = true
		said.RetryAfter += keyRest
	}
	return said
}

// patience is for how long the call asks Dibs to wait.
func (c *call) patience() time.Duration {
	asked := c.query.Get("wait_seconds")
	if wait, isThere := strings.CutPrefix(c.header.Get("Prefer"), "wait="); isThere {
		asked = wait
	}
	if asked == "" {
		return c.wait
	}
	n, _ := strconv.ParseFloat(asked, 64)
	return seconds(n)
}

func (c *Client) request(ctx context.Context, call *call) (*http.Request, error) {
	target, err := c.base()
	if err != nil {
		return nil, err
	}
	key, err := c.key(ctx)
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if call.body != nil {
		text, err := json.Marshal(call.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	target += call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, call.method, target, body)
	if err != nil {
		return nil, err
	}
	for name, values := range call.header {
		if err := checkHeader(name, values); err != nil {
			return nil, err
		}
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Authorization", bearer+key)
	}
	return request, nil
}

const (
	// mostAnswer bounds what is read of an answer. Dibs sends 16 MiB of jobs, and one more of that size. As text, each may be twice as long.
	mostAnswer = 128 << 20
	// mostRefusal bounds what is read of an answer that says no.
	mostRefusal = 1 << 20
)

// send: a transport may be one of the program's own, and panic. The caller closes the body.
func send(client *http.Client, request *http.Request) (response *http.Response, err error) {
	err = guarded(func() (err error) {
		response, err = client.Do(request)
		return err
	})
	// The URL that it names may have a password.
	if failed, isURL := find[*url.Error](err); isURL {
		err = failed.Err
	}
	return response, err
}

// exchange sends a request, and reads its answer.
func exchange(client *http.Client, request *http.Request) ([]byte, *http.Response, error) {
	type answer struct {
		text     []byte
		response *http.Response
	}
	ctx := request.Context()
	given, err := apart(ctx, "the transport", func() (given answer, err error) {
		if given.response, err = send(client, request); err == nil {
			given.text, err = readAll(ctx, given.response)
		}
		return given, err
	})
	return given.text, given.response, err
}

// readAll: a body may be of a transport of the program's own, too.
func readAll(ctx context.Context, response *http.Response) (text []byte, err error) {
	most := mostAnswer
	if response.StatusCode >= 300 {
		most = mostRefusal
	}
	err = guarded(func() (err error) {
		defer response.Body.Close()
		text, err = io.ReadAll(io.LimitReader(untilDone{ctx, response.Body}, int64(most)))
		return err
	})
	if err == nil && len(text) == mostAnswer {
		err = errors.New("the answer is too long to be of Dibs")
	}
	return text, err
}

// untilDone is read until ctx ends. A body may give nothing again and again.
type untilDone struct {
	ctx  context.Context
	body io.Reader
}

func (u untilDone) Read(into []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.body.Read(into)
}

func newID() string {
	random := make([]byte, 16)
	_, _ = crand.Read(random)
	return hex.EncodeToString(random)
}

// Ptr makes a pointer of a value, for optional fields.
func Ptr[T any](value T) *T { return &value }
