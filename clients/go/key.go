package dibs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// For how long a key that was accepted may be refused: it is being replaced. keyRest is how long to wait for the next one.
	keyPatience = time.Minute
	keyRest     = 2 * time.Second
)

// key without the line break of the file that it was read from.
func (c *Client) key(ctx context.Context) (string, error) {
	if c.KeyFunc == nil {
		return checkedKey(c.Key)
	}
	type answer struct {
		key string
		err error
	}
	came := make(chan answer, 1)
	go func() {
		given := answer{err: errors.New("the KeyFunc ended its goroutine")}
		defer func() { came <- given }()
		err := guarded(func() (err error) {
			given.key, err = c.KeyFunc(ctx)
			return err
		})
		given.err = err
	}()
	var given answer
	select {
	case given = <-came:
	case <-ctx.Done():
		given.err = ctx.Err()
	}
	key, err := checkedKey(given.key)
	if given.err != nil {
		err = fmt.Errorf("there is no key: %w", given.err)
	}
	if err != nil {
		return "", &ConnectionError{err}
	}
	return key, nil
}

func checkedKey(given string) (string, error) {
	key := strings.TrimSpace(given)
	for _, char := range key {
		if char <= ' ' || char > '~' {
			return "", errors.New("dibs: the key has a character that no key has: a space, a line break, or one beyond ASCII")
		}
	}
	return key, nil
}

// keyStanding is what Dibs said of the key: an answer of 2xx accepts it, a 401 does not.
type keyStanding struct {
	mu           sync.Mutex
	isAccepted   bool
	refusedSince time.Time
}

func (k *keyStanding) accepted() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.isAccepted, k.refusedSince = true, time.Time{}
}

// refused tells whether the next key may be on its way.
func (k *keyStanding) refused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refusedSince.IsZero() {
		k.refusedSince = time.Now()
	}
	return k.isAccepted && time.Since(k.refusedSince) < keyPatience
}
