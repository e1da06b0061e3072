package main

// twister is the Mersenne Twister MT19937 of Matsumoto and Nishimura, from
// which both Python's random and numpy's legacy generator draw. The model has
// its own, so that it knows what a session must draw next.
type twister struct {
	state [twisterSize]uint32
	next  int
}

const (
	twisterSize  = 624
	twisterShift = 397
)

// seedNumber seeds as numpy.random.seed does with a number.
func seedNumber(seed uint32) twister {
	t := twister{next: twisterSize}
	t.state[0] = seed
	for i := uint32(1); i < twisterSize; i++ {
		before := t.state[i-1]
		t.state[i] = 1812433253*(before^before>>30) + i
	}
	return t
}

// seedKey seeds as random.seed does with a number of 32 bits: a key of one word.
func seedKey(key uint32) twister {
	t := seedNumber(19650218)
	i := 1
	step := func(factor, add uint32, subtract bool) {
		before := t.state[i-1]
		mixed := t.state[i] ^ (before^before>>30)*factor
		if subtract {
			t.state[i] = mixed - uint32(i)
		} else {
			t.state[i] = mixed + add
		}
		if i++; i >= twisterSize {
			t.state[0] = t.state[twisterSize-1]
			i = 1
		}
	}
	for range twisterSize {
		step(1664525, key, false)
	}
	for range twisterSize - 1 {
		step(1566083941, 0, true)
	}
	t.state[0] = 1 << 31
	return t
}

// draw returns the next word: random.getrandbits(32), four of numpy.random.bytes.
func (t *twister) draw() uint32 {
	if t.next >= twisterSize {
		t.turn()
	}
	y := t.state[t.next]
	t.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// turn makes the next 624 words.
func (t *twister) turn() {
	for i := range t.state {
		y := t.state[i]&(1<<31) | t.state[(i+1)%twisterSize]&(1<<31-1)
		word := t.state[(i+twisterShift)%twisterSize] ^ y>>1
		if y&1 != 0 {
			word ^= 0x9908b0df
		}
		t.state[i] = word
	}
	t.next = 0
}
