package auth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How the issuer's keys are kept. An issuer that can't be reached is asked
// again after refreshPause; until staleAfter its last keys do.
const (
	refreshEvery = time.Hour        // a key that was withdrawn is trusted so long
	refreshPause = 10 * time.Second // however many unknown keys are asked for
	staleAfter   = 24 * time.Hour
	fetchTime    = 10 * time.Second
)

// weakestRSA is the shortest RSA key that is used, in bits (RFC 7518).
const weakestRSA = 2048

// keySet holds the issuer's public keys. It fetches them when the first token
// comes, once an hour, and when a token names a key that it doesn't have.
type keySet struct {
	fetch func(context.Context) ([]byte, error)
	log   *slog.Logger
	now   func() time.Time

	life     context.Context
	endLife  context.CancelFunc
	fetching sync.WaitGroup

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetched time.Time     // when keys came
	asked   time.Time     // when they were last asked for
	answer  chan struct{} // closed when the fetch under way is over; nil if none is
}

func newKeySet(fetch func(context.Context) ([]byte, error), log *slog.Logger, now func() time.Time) *keySet {
	life, endLife := context.WithCancel(context.Background())
	return &keySet{fetch: fetch, log: log, now: now, life: life, endLife: endLife}
}

func (s *keySet) close() {
	s.mu.Lock()
	s.endLife() // nobody begins a fetch after this
	s.mu.Unlock()
	s.fetching.Wait()
}

// errNoKeys says that the issuer could not be asked, so that nothing can be
// said of a token.
var errNoKeys = errors.New("the issuer's keys are not to be had")

// find returns the keys that may have made a signature: those of that kid, or
// all when the token names none. It returns none for a kid that the issuer
// doesn't have, and errNoKeys when there are no keys to look among.
func (s *keySet) find(ctx context.Context, kid string, algorithm jose.SignatureAlgorithm) ([]jose.JSONWebKey, error) {
	found, usable, answer := s.look(kid, algorithm)
	if len(found) == 0 && answer != nil {
		select {
		case <-answer:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		found, usable, _ = s.look(kid, algorithm)
	}
	if len(found) == 0 && !usable {
		return nil, errNoKeys
	}
	return found, nil
}

// look returns the keys that there are, whether they may be used still, and the end of
// a fetch of new ones where that is due; one goes on beside keys that do.
func (s *keySet) look(kid string, algorithm jose.SignatureAlgorithm) (found []jose.JSONWebKey, usable bool, answer chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if usable = !s.fetched.IsZero() && now.Sub(s.fetched) < staleAfter; usable {
		found = suitable(s.keys, kid, algorithm)
	}
	if len(found) == 0 || now.Sub(s.fetched) >= refreshEvery {
		answer = s.refresh(now)
	}
	return found, usable, answer
}

// refresh begins to fetch the keys, unless that was done a moment ago. It
// returns what is closed at the end of the fetch under way, nil if there is
// none. The caller holds mu.
func (s *keySet) refresh(now time.Time) chan struct{} {
	if s.answer != nil {
		return s.answer
	}
	if s.life.Err() != nil || !s.asked.IsZero() && now.Sub(s.asked) < refreshPause {
		return nil
	}
	s.asked, s.answer = now, make(chan struct{})
	s.fetching.Go(s.update)
	return s.answer
}

// update is the one fetch under way.
func (s *keySet) update() {
	ctx, cancel := context.WithTimeout(s.life, fetchTime)
	defer cancel()
	text, err := s.fetch(ctx)
	var keys []jose.JSONWebKey
	if err == nil {
		keys, err = parseKeys(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.keys, s.fetched = keys, s.now()
	} else if s.life.Err() == nil {
		s.log.Warn("the issuer's keys could not be fetched", "error", err, "keys", len(s.keys), "last_fetched", s.fetched)
	}
	close(s.answer)
	s.answer = nil
}

// parseKeys reads a JWK set. Keys that we can't use or must not use are passed
// over: an issuer may have others for other purposes.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("reading the key set: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(raw); err == nil && usable(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("none of the issuer's %d keys can be used to check signatures", len(set.Keys))
	}
	return keys, nil
}

// usable refuses what is no public key for signatures: a secret in a key set
// would be known to all the world.
func usable(key jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
		return false
	}
	if rsaKey, isRSA := key.Key.(*rsa.PublicKey); isRSA {
		return rsaKey.N.BitLen() >= weakestRSA
	}
	return true
}

// suitable are the keys that may have signed with that algorithm.
func suitable(keys []jose.JSONWebKey, kid string, algorithm jose.SignatureAlgorithm) []jose.JSONWebKey {
	return slices.DeleteFunc(slices.Clone(keys), func(key jose.JSONWebKey) bool {
		return kid != "" && key.KeyID != kid || key.Algorithm != "" && key.Algorithm != string(algorithm)
	})
}
