package dibs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// For how long a key that was accepted may be refused: it is being replaced. keyRest is how long to wait for the next one.
	keyPatience = time.Minute
	keyRest     = 2 * time.Second
)

const bearer = "Bearer "

// keyIn is the key that a request has with it. A transport may put another one in its place.
func keyIn(request *http.Request) string {
	return strings.TrimPrefix(request.Header.Get("Authorization"), bearer)
}

// key without the line break of the file that it was read from.
func (c *Client) key(ctx context.Context) (string, error) {
	switch {
	case c.KeyFile != "" && (c.Key != "" || c.KeyFunc != nil):
		return "", errors.New("dibs: give one of Key, KeyFunc and KeyFile (DIBS_KEY, DIBS_KEY_FILE)")
	case c.KeyFile != "":
		return c.file.key(c.KeyFile)
	case c.KeyFunc == nil:
		return checkedKey(c.Key)
	}
	key, err := apart(ctx, "the KeyFunc", func() (string, error) { return c.KeyFunc(ctx) })
	if err != nil {
		err = fmt.Errorf("there is no key: %w", err)
	} else {
		key, err = checkedKey(key)
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

// keyFile has what was read of a file: when it was needed first, and each time that it was refused.
type keyFile struct {
	mu   sync.Mutex
	text string
}

func (k *keyFile) key(file string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.text != "" {
		return k.text, nil
	}
	var err error
	k.text, err = readKey(file)
	return k.text, err
}

// isRenewed tells whether the file has another key than this one, which was refused. While the file is replaced, it has none.
func (k *keyFile) isRenewed(file, refused string) bool {
	text, err := readKey(file)
	if err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text = text
	return text != refused
}

// readKey: no error shows what is in the file.
func readKey(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("dibs: the key file cannot be read: %w", err)
	}
	key, err := checkedKey(string(text))
	if err == nil && key == "" {
		err = fmt.Errorf("dibs: the key file %s is empty", file)
	}
	return key, err
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
