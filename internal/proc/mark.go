package proc

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
)

// Variable is the environment variable that marks a worker's kin.
const Variable = "UNDERSTUDY_INTERPRETER"

// tagBits is the part of a tag that numbers the workers of one server.
const tagBits = 22

// A Mark tells the kin of one worker, or of all workers of one server, from all
// other processes. It is twofold, for code may give a child an environment of
// its own: an environment variable, and a value of a resource limit that
// nothing uses, which every descendant inherits.
type Mark struct {
	Value string // of Variable: nonce/interpreter/number
	Tag   uint64 // nonce and number
}

// Nonce is a server's part of a mark: 16 hexadecimal digits.
type Nonce string

// NewNonce returns that of a new server.
func NewNonce() Nonce {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return Nonce(hex.EncodeToString(random[:]))
}

// Mark returns the mark of the nth worker of a server.
func (n Nonce) Mark(interpreterID string, number uint64) Mark {
	return Mark{
		Value: string(n) + "/" + interpreterID + "/" + strconv.FormatUint(number, 10),
		// The later, the lower: a branch, which begins with the tag of the
		// worker it was copied from, may lower a limit but not raise it.
		Tag: n.prefix()<<tagBits | (1<<tagBits - 1 - number&(1<<tagBits-1)),
	}
}

// Owns reports whether a tag is of a worker of that server.
func (n Nonce) Owns(tag uint64) bool { return tag>>tagBits == n.prefix() }

// prefix is the nonce's part of a tag: 40 bits, so that a tag has 62 and stays
// below infinity.
func (n Nonce) prefix() uint64 {
	prefix, _ := strconv.ParseUint(string(n[:10]), 16, 64)
	return prefix
}
