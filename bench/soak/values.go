package main

// value is what a variable of a session must hold. Values are never changed, so that
// the states of a model can share them.
type value struct {
	kind string
	of   []int64 // the numbers that it is made of
	want any     // what the kind's probe gives
}

// probes are Python expressions that tell of a variable $v without changing it, in
// lists, numbers, flags and None.
var probes = map[string]string{
	"number":    "$v",
	"list":      "$v",
	"nest":      "$v['of'][0]", // a list in a list in a dictionary
	"array":     "[len($v), int($v.sum()), int(($v * __import__('numpy').arange(len($v))).sum())]",
	"frame":     "[len($v), int($v['b'].sum())]",
	"function":  "$v(7)",
	"generator": "$v.gi_frame.f_locals.get('i', -1)",
	"module":    "$v.factorial(10)",
	"figure":    "len($v.axes[0].lines)",
	"child":     "$v.poll()",
	"thread":    "$v.is_alive()",
	"event":     "$v.is_set()",
}

func number(n int64) value { return value{"number", []int64{n}, n} }

func listOf(numbers ...int64) value { return value{"list", numbers, numbers} }

func nestOf(numbers ...int64) value { return value{"nest", numbers, numbers} }

// modulus keeps the elements of arrays small enough for their sums.
const modulus = 1_000_003

// arrayOf is a numpy array of 64-bit integers below the modulus.
func arrayOf(numbers []int64) value {
	var sum, weighted int64
	for i, x := range numbers {
		sum += x
		weighted += x * int64(i)
	}
	return value{"array", numbers, []int64{int64(len(numbers)), sum, weighted}}
}

// frameOf is a pandas DataFrame with so many rows, and a column b of that sum.
func frameOf(rows, sum int64) value { return value{"frame", []int64{rows, sum}, []int64{rows, sum}} }

// function is the Python function x → factor·x + plus.
func function(factor, plus int64) value { return value{"function", nil, factor*7 + plus} }

// generator counts; last is what it gave last.
func generator(last int64) value { return value{"generator", []int64{last}, last} }

// figure is one of matplotlib's, that was shown and is kept.
func figure(lines int64) value { return value{"figure", nil, lines} }

var (
	mathModule   = value{"module", nil, 3628800}
	runningChild = value{"child", nil, nil}
	liveThread   = value{"thread", nil, true}
	endedThread  = value{"thread", nil, false}
)

// endedChild is a process that the session had started, with its return code.
func endedChild(code int) value { return value{"child", nil, code} }

// event is what a thread waits for.
func event(set bool) value { return value{"event", nil, set} }
