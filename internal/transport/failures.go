package transport

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// failuresAtOnce is how many failed attempts to authenticate an address has
	// at once; failureRate how many it gets back a second.
	failuresAtOnce = 50
	failureRate    = 5
	// trusted is how long credentials that were good are tried even from an
	// address with too many failures: somebody behind it may be honest.
	trusted = 10 * time.Minute
	// remembered bounds how many addresses and credentials are kept in mind.
	remembered = 10_000
)

// failures hold off who guesses credentials.
type failures struct {
	mu      sync.Mutex
	byPlace map[string]*rate.Limiter
	good    map[[sha256.Size]byte]time.Time
}

func newFailures() *failures {
	return &failures{byPlace: map[string]*rate.Limiter{}, good: map[[sha256.Size]byte]time.Time{}}
}

// mayTry reports whether the request's credentials are to be looked at.
func (f *failures) mayTry(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	limiter := f.byPlace[address(r)]
	return limiter == nil || limiter.Tokens() >= 1 || time.Since(f.good[fingerprint(r)]) < trusted
}

// failed counts a failure.
func (f *failures) failed(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	place := address(r)
	limiter := f.byPlace[place]
	if limiter == nil {
		f.forget()
		limiter = rate.NewLimiter(failureRate, failuresAtOnce)
		f.byPlace[place] = limiter
	}
	limiter.Allow()
}

// succeeded remembers good credentials.
func (f *failures) succeeded(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.good) >= remembered {
		clear(f.good)
	}
	f.good[fingerprint(r)] = time.Now()
}

// forget makes room. The caller holds mu.
func (f *failures) forget() {
	if len(f.byPlace) < remembered {
		return
	}
	for place, limiter := range f.byPlace {
		if limiter.Tokens() >= failuresAtOnce {
			delete(f.byPlace, place)
		}
	}
	if len(f.byPlace) >= remembered {
		clear(f.byPlace)
	}
}

func fingerprint(r *http.Request) [sha256.Size]byte {
	return sha256.Sum256([]byte(r.Header.Get("Authorization")))
}
