package transport

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Authenticator says who sent a request.
type Authenticator interface {
	// Authenticate returns who sent the request. An error that is a Refusal says
	// what the client is told; any other is a fault of ours (500, logged).
	Authenticate(r *http.Request) (principal string, err error)
}

// Refusal is why a request is not let in.
type Refusal interface {
	error
	// Status is the status code of the answer: 401 or 403.
	Status() int
	// Challenge is the WWW-Authenticate header, "" for none.
	Challenge() string
}

// requests numbers the requests of this process, for the log.
var requests atomic.Uint64

// identified lets those requests through whose sender it knows, or who need
// none, and puts the sender into their context.
func (h *HTTP) identified(next Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller := Caller{
			Request: strconv.FormatUint(requests.Add(1), 36),
			Trace:   Trace{r.Header.Get("Traceparent"), r.Header.Get("Tracestate")},
		}
		exchange := exchangeFrom(r.Context())
		exchange.Caller = caller
		if next.Authenticator != nil {
			principal, ok := h.authenticate(next.Authenticator, w, r)
			if !ok {
				return
			}
			caller = caller.ofPrincipal(principal)
			exchange.Caller = caller
		}
		for name, value := range h.options.Headers {
			w.Header().Set(name, value)
		}
		next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), caller)))
	})
}

// authenticate returns who sent the request. Otherwise it has answered it.
func (h *HTTP) authenticate(by Authenticator, w http.ResponseWriter, r *http.Request) (principal string, ok bool) {
	if r.Header.Get("Authorization") != "" && !h.failures.mayTry(r) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many attempts to authenticate failed; try again later", http.StatusTooManyRequests)
		return "", false
	}
	principal, err := by.Authenticate(r)
	var refusal Refusal
	switch {
	case err == nil && principal != "":
		h.failures.succeeded(r)
		return principal, true
	case errors.As(err, &refusal):
		if refusal.Status() == http.StatusUnauthorized && r.Header.Get("Authorization") != "" {
			h.failures.failed(r) // who has shown nothing has guessed nothing
		}
		if challenge := refusal.Challenge(); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		http.Error(w, refusal.Error(), refusal.Status())
	default: // a principal without a name would share its sessions with all such
		h.log.Error("authentication", "error", err)
		http.Error(w, "authentication does not work at the moment", http.StatusInternalServerError)
	}
	return "", false
}

const (
	// failureRate is how many failed attempts to authenticate an address gets back a
	// second, and failureBurst after how many seconds it has all that it may have.
	failureRate, failureBurst = 5, 10
	// trusted is how long credentials that were good are tried even from an
	// address with too many failures: somebody behind it may be honest.
	trusted = 10 * time.Minute
)

// failures hold off who guesses credentials.
type failures struct {
	byPlace *limits

	mu   sync.Mutex
	good map[[sha256.Size]byte]time.Time
}

func newFailures() *failures {
	return &failures{byPlace: newLimits(0, failureRate, failureBurst), good: map[[sha256.Size]byte]time.Time{}}
}

// mayTry reports whether the request's credentials are to be looked at.
func (f *failures) mayTry(r *http.Request) bool {
	if !f.byPlace.isExhausted(metered{address(r), 1}) {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return time.Since(f.good[fingerprint(r)]) < trusted
}

// failed counts a failure.
func (f *failures) failed(r *http.Request) { f.byPlace.pass(metered{address(r), 1}) }

// succeeded remembers good credentials.
func (f *failures) succeeded(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.good) >= remembered {
		clear(f.good)
	}
	f.good[fingerprint(r)] = time.Now()
}

func fingerprint(r *http.Request) [sha256.Size]byte {
	return sha256.Sum256([]byte(r.Header.Get("Authorization")))
}
