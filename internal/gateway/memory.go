package gateway

import (
	"errors"
	"io"
	"sync"
)

const (
	// freeAnswer is up to where a message of a pod's counts for nothing.
	freeAnswer = 256 << 10
	// answerStep is how much memory a larger one takes at a time.
	answerStep = 256 << 10
	// mostAnswers is what the larger ones of one claim may take together: whoever has
	// broken out of an interpreter can have its pod answer what he likes.
	mostAnswers = 32 << 20
	// allAnswers is what those of all claims may take.
	allAnswers = 128 << 20
)

var errLarge = errors.New("the pod's answer is too large")

// memory is for the messages of pods until they are whole, and passed on.
type memory struct {
	mu  sync.Mutex
	all int64
	of  map[string]int64 // by claim
}

// take adds to what a claim has of the memory, if it may have that.
func (m *memory) take(claim string, more int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.of[claim] + more
	if more > 0 && (now > mostAnswers || m.all+more > allAnswers) {
		return false
	}
	m.all += more
	if m.of[claim] = now; now == 0 {
		delete(m.of, claim)
	}
	return true
}

// kept reads messages of a pod's that are kept until they are passed on.
type kept struct {
	from   io.Reader
	memory *memory
	claim  string

	size, taken int64
}

// Read takes memory for what comes.
func (k *kept) Read(p []byte) (int, error) {
	n, err := k.from.Read(p)
	for k.size += int64(n); k.size > freeAnswer+k.taken; k.taken += answerStep {
		if !k.memory.take(k.claim, answerStep) {
			return n, errLarge
		}
	}
	return n, err
}

// passedOn gives the memory back.
func (k *kept) passedOn() {
	k.memory.take(k.claim, -k.taken)
	k.size, k.taken = 0, 0
}
