package worker

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
)

// markVariable is the environment variable that marks a worker's kin.
const markVariable = "UNDERSTUDY_INTERPRETER"

// tagBits is the part of a tag that numbers the workers of one server.
const tagBits = 22

// A mark tells the kin of one worker, or of all workers of one server, from all
// other processes. It is twofold, for code may give a child an environment of
// its own: an environment variable, and a value of a resource limit that
// nothing uses, which every descendant inherits.
type mark struct {
	value string // of markVariable: nonce/interpreter/number
	tag   uint64 // nonce and number
}

// nonce is a server's part of a mark: 16 hexadecimal digits.
type nonce string

func newNonce() nonce {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return nonce(hex.EncodeToString(random[:]))
}

// worker returns the mark of the nth worker of a server.
func (n nonce) worker(interpreterID string, number uint64) mark {
	return mark{
		value: string(n) + "/" + interpreterID + "/" + strconv.FormatUint(number, 10),
		// The later, the lower: a branch, which begins with the tag of the
		// worker it was copied from, may lower a limit but not raise it.
		tag: n.prefix()<<tagBits | (1<<tagBits - 1 - number&(1<<tagBits-1)),
	}
}

// prefix is the nonce's part of a tag: 40 bits, so that a tag has 62 and stays
// below infinity.
func (n nonce) prefix() uint64 {
	prefix, _ := strconv.ParseUint(string(n[:10]), 16, 64)
	return prefix
}
