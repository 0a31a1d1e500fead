package dibs

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// base is the URL of Dibs. Its errors do not pass, and name no part of the URL: it may have a password.
func (c *Client) base() (string, error) {
	if c.URL == "" {
		return "http://127.0.0.1:8080", nil
	}
	address, err := url.Parse(strings.TrimSpace(c.URL))
	switch {
	case err != nil:
		return "", errors.New("dibs: the URL of Dibs cannot be read; it should be like http://127.0.0.1:8080")
	case address.Scheme != "http" && address.Scheme != "https":
		return "", errors.New("dibs: the URL of Dibs must begin with http:// or https://")
	case address.Hostname() == "":
		return "", errors.New("dibs: the URL of Dibs has no host")
	case address.User != nil || address.ForceQuery || address.RawQuery != "" || address.Fragment != "":
		return "", errors.New("dibs: the URL of Dibs must have no user name, no query and no fragment")
	}
	if port := address.Port(); port != "" {
		if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
			return "", errors.New("dibs: the port in the URL of Dibs must be from 1 to 65535")
		}
	}
	return strings.TrimRight(address.String(), "/"), nil
}

func checkHeader(name string, values []string) error {
	for _, value := range values {
		if strings.ContainsFunc(value, func(char rune) bool { return char < ' ' && char != '\t' || char == 0x7F }) {
			return fmt.Errorf("dibs: the header %s must have no line break and no other control character", name)
		}
	}
	return nil
}

// shared keeps connections for all clients that have no HTTP of their own. It is made at the first request: by then, the program may
// have wrapped http.DefaultTransport. It follows no redirect: that would turn a POST into a GET.
var shared = sync.OnceValue(func() *http.Client {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if standard, isPlain := http.DefaultTransport.(*http.Transport); isPlain && standard != nil {
		transport := standard.Clone()
		transport.MaxIdleConnsPerHost = 16
		client.Transport = transport
	}
	return client
})
