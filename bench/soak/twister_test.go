package main

import "testing"

// What Python says: random.seed(5), random.getrandbits(32) three times;
// numpy.random.seed(5), numpy.random.bytes(4) three times. The draws after the
// first 624 words tell whether the state turns as theirs does.
func TestTwisterDrawsWhatPythonDraws(t *testing.T) {
	for _, c := range []struct {
		name  string
		made  twister
		first [3]uint32
		later uint32 // the 2,000th
	}{
		{"random", seedKey(5), [3]uint32{2675342405, 1097127993, 3185950873}, 2894893787},
		{"numpy", seedNumber(5), [3]uint32{953453411, 236996814, 3739766767}, 4018181980},
	} {
		for i, want := range c.first {
			if got := c.made.draw(); got != want {
				t.Errorf("%s: draw %d is %d, not %d", c.name, i, got, want)
			}
		}
		var last uint32
		for range 2000 - len(c.first) {
			last = c.made.draw()
		}
		if last != c.later {
			t.Errorf("%s: the 2,000th draw is %d, not %d", c.name, last, c.later)
		}
	}
}
