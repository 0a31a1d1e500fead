package dibs

import (
	"math/rand"
	"time"
)

const (
	// longest is what every time is cut to, so that sums of several do not overflow. It is as good as for ever.
	longest = 50 * 365 * 24 * time.Hour
	// shortestLease is one of Dibs.
	shortestLease = 100 * time.Millisecond
	// longestRest is how long a Retry-After is waited out.
	longestRest = time.Minute

	// patience is how long an extend waits for its answer before it is sent again: after an outage, leases must be extended within 5 s.
	patience = 2 * time.Second
	// longestPause is between two extends, however long a Retry-After asks to wait. A third more at most, at random, so that many
	// workers do not come in step.
	longestPause = 3 * time.Second
	// longestRequest is of an extend. Dibs answers within 5 s.
	longestRequest = 10 * time.Second

	backoffBase    = 100 * time.Millisecond
	backoffLongest = 2 * time.Second
)

// bounded makes a time of what a program gave: it may be negative, or math.MaxInt64.
func bounded(given time.Duration) time.Duration { return max(0, min(given, longest)) }

func orDefault(given, fallback time.Duration) time.Duration {
	if given == 0 {
		return fallback
	}
	return bounded(given)
}

// seconds makes a time of a number that came from elsewhere: it may be NaN, negative or 1e300.
func seconds(n float64) time.Duration {
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n, longest.Seconds()) * float64(time.Second))
}

// backoff is how long to wait after this many failures in a row: a random share of a time that doubles (full jitter), so that many
// workers do not come back in step.
func backoff(failures int, err error) time.Duration {
	most := min(backoffBase<<min(failures, 10), backoffLongest)
	rest := time.Duration(0)
	if refused, isRefusal := refusalIn(err); isRefusal && refused.RetryAfter > 0 {
		rest = min(refused.RetryAfter, longestRest)
		most = min(most, rest)
	}
	return rest + time.Duration(rand.Float64()*float64(most))
}
