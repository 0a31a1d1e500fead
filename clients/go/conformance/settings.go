package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"dibs.example/dibs"
)

// duration is a number of seconds, or "forever".
type duration time.Duration

func (d *duration) UnmarshalJSON(text []byte) error {
	if string(text) == `"forever"` {
		*d = math.MaxInt64
		return nil
	}
	var n float64
	err := json.Unmarshal(text, &n)
	*d = duration(seconds(n))
	return err
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// keySteps is a key, or what a key function does at each of its calls.
type keySteps struct {
	key   string
	steps []keyStep
}

type keyStep struct {
	Key  string `json:"key"`
	Fail string `json:"fail"`
	Hang bool   `json:"hang"`
}

func (k *keySteps) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, &k.key)
	}
	return json.Unmarshal(text, &k.steps)
}

func (c command) client() *dibs.Client {
	client := &dibs.Client{URL: c.URL, Key: c.Key.key, KeyFile: c.KeyFile, Timeout: time.Duration(c.TimeoutSeconds)}
	if len(c.Key.steps) > 0 {
		client.KeyFunc = keyFunc(c.Key.steps)
	}
	return client
}

func keyFunc(steps []keyStep) func(context.Context) (string, error) {
	var mu sync.Mutex
	next := 0
	return func(context.Context) (string, error) {
		mu.Lock()
		step := steps[min(next, len(steps)-1)]
		next++
		mu.Unlock()
		if step.Hang {
			select {}
		}
		if step.Fail != "" {
			return "", errors.New(step.Fail)
		}
		return step.Key, nil
	}
}

// codeOf: what is neither an answer nor a lost one was refused before it was sent.
func codeOf(err error) string {
	var refusal *dibs.Error
	var broken *dibs.ConnectionError
	switch {
	case errors.As(err, &refusal):
		return refusal.Code
	case errors.As(err, &broken):
		return "connection"
	}
	return "config"
}

// all that an error says, with its causes.
func all(err error) string {
	text := ""
	for ; err != nil; err = errors.Unwrap(err) {
		text += fmt.Sprintf("%v %#v\n", err, err)
	}
	return text
}
