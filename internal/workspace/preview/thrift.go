package preview

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// thrift reads Thrift's compact protocol from bytes that are all there. What a
// length in it claims is never taken on trust: every element has a byte at least.
type thrift struct {
	bytes []byte
	at    int
}

// Types of the compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

const thriftDepth = 32

var errThrift = errors.New("its footer is damaged")

func (t *thrift) byte() (byte, error) {
	if t.at >= len(t.bytes) {
		return 0, errThrift
	}
	t.at++
	return t.bytes[t.at-1], nil
}

func (t *thrift) uvarint() (uint64, error) {
	v, n := binary.Uvarint(t.bytes[t.at:])
	if n <= 0 {
		return 0, errThrift
	}
	t.at += n
	return v, nil
}

func (t *thrift) varint() (int64, error) {
	v, err := t.uvarint()
	return int64(v>>1) ^ -int64(v&1), err
}

func (t *thrift) take(n uint64) ([]byte, error) {
	if n > uint64(len(t.bytes)-t.at) {
		return nil, errThrift
	}
	t.at += int(n)
	return t.bytes[t.at-int(n) : t.at], nil
}

func (t *thrift) binary() ([]byte, error) {
	n, err := t.uvarint()
	if err != nil {
		return nil, err
	}
	return t.take(n)
}

// fields calls for each field of a struct; who does not read it says so, and it is
// skipped.
func (t *thrift) fields(each func(id int, kind byte) (read bool, err error)) error {
	id := 0
	for {
		head, err := t.byte()
		if err != nil {
			return err
		}
		if head == 0 {
			return nil
		}
		kind := head & 15
		if delta := int(head >> 4); delta > 0 {
			id += delta
		} else {
			v, err := t.varint()
			if err != nil || v < 0 || v > 1<<15 {
				return errThrift
			}
			id = int(v)
		}
		read, err := each(id, kind)
		if err == nil && !read {
			err = t.skip(kind, 0)
		}
		if err != nil {
			return err
		}
	}
}

// list reads the head of a list and calls for each element.
func (t *thrift) list(want byte, each func() error) error {
	kind, n, err := t.listHead()
	if err != nil {
		return err
	}
	if kind != want && n > 0 {
		return errThrift
	}
	for range n {
		if err := each(); err != nil {
			return err
		}
	}
	return nil
}

func (t *thrift) listHead() (kind byte, n int, err error) {
	head, err := t.byte()
	if err != nil {
		return 0, 0, err
	}
	size := uint64(head >> 4)
	if size == 15 {
		if size, err = t.uvarint(); err != nil {
			return 0, 0, err
		}
	}
	if size > uint64(len(t.bytes)-t.at) {
		return 0, 0, errThrift
	}
	return head & 15, int(size), nil
}

func (t *thrift) skip(kind byte, depth int) error {
	if depth > thriftDepth {
		return errThrift
	}
	var err error
	switch kind {
	case thriftTrue, thriftFalse: // in a list it takes a byte, as a field none
		if depth > 0 {
			_, err = t.byte()
		}
	case thriftByte:
		_, err = t.byte()
	case thriftI16, thriftI32, thriftI64:
		_, err = t.uvarint()
	case thriftDouble:
		_, err = t.take(8)
	case thriftBinary:
		_, err = t.binary()
	case thriftList, thriftSet:
		return t.skipList(depth)
	case thriftMap:
		return t.skipMap(depth)
	case thriftStruct:
		return t.skipStruct(depth)
	default:
		err = fmt.Errorf("%w: type %d", errThrift, kind)
	}
	return err
}

func (t *thrift) skipList(depth int) error {
	kind, n, err := t.listHead()
	if err != nil {
		return err
	}
	for range n {
		if err := t.skip(kind, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (t *thrift) skipMap(depth int) error {
	n, err := t.uvarint()
	if err != nil || n == 0 {
		return err
	}
	if n > uint64(len(t.bytes)-t.at) {
		return errThrift
	}
	kinds, err := t.byte()
	for range n {
		if err == nil {
			err = t.skip(kinds>>4, depth+1)
		}
		if err == nil {
			err = t.skip(kinds&15, depth+1)
		}
		if err != nil {
			return err
		}
	}
	return err
}

func (t *thrift) skipStruct(depth int) error {
	for {
		head, err := t.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 {
			if _, err := t.varint(); err != nil {
				return err
			}
		}
		kind := head & 15
		if kind == thriftTrue || kind == thriftFalse {
			continue
		}
		if err := t.skip(kind, depth+1); err != nil {
			return err
		}
	}
}
