package main

import (
	"fmt"
	"slices"
)

// value is what a variable of a session must hold. Values are never changed,
// so that the states of a model can share them.
type value interface {
	// probe is a Python expression that tells of the variable without
	// changing it, in lists, numbers, strings and None.
	probe(name string) string
	// want is what the expression must give.
	want() any
}

type number int64

func (v number) probe(name string) string { return name }
func (v number) want() any                { return int64(v) }

type list []int64

func (v list) probe(name string) string { return name }
func (v list) want() any                { return append([]int64{}, v...) } // never null

func (v list) with(more ...int64) list { return append(slices.Clone(v), more...) }

// nest is a list in a list in a dictionary.
type nest list

func (v nest) probe(name string) string { return name + "['of'][0]" }
func (v nest) want() any                { return list(v).want() }

// modulus keeps the elements of arrays small enough for their sums.
const modulus = 1_000_003

// array is a numpy array of 64-bit integers below the modulus.
type array []int64

func (v array) probe(name string) string {
	return fmt.Sprintf("[len(%[1]s), int(%[1]s.sum()), int((%[1]s * __import__('numpy').arange(len(%[1]s))).sum())]", name)
}

func (v array) want() any {
	var sum, weighted int64
	for i, x := range v {
		sum += x
		weighted += x * int64(i)
	}
	return []int64{int64(len(v)), sum, weighted}
}

// changed is the array with f applied to every step-th element.
func (v array) changed(step int, f func(int64) int64) array {
	after := slices.Clone(v)
	for i := 0; i < len(after); i += step {
		after[i] = f(after[i])
	}
	return after
}

// frame is a pandas DataFrame with a column b.
type frame struct{ rows, sum int64 }

func (v frame) probe(name string) string {
	return fmt.Sprintf("[len(%[1]s), int(%[1]s['b'].sum())]", name)
}
func (v frame) want() any { return []int64{v.rows, v.sum} }

// function is a Python function x → factor·x + plus.
type function struct{ factor, plus int64 }

func (v function) probe(name string) string { return name + "(7)" }
func (v function) want() any                { return v.factor*7 + v.plus }

// generator counts; last is what it gave last.
type generator struct{ last int64 }

func (v generator) probe(name string) string {
	return fmt.Sprintf("%s.gi_frame.f_locals.get('i', -1)", name)
}
func (v generator) want() any { return v.last }

// module is an imported module, math.
type module struct{}

func (module) probe(name string) string { return name + ".factorial(10)" }
func (module) want() any                { return 3628800 }

// figure is a matplotlib figure that was shown and is kept.
type figure struct{ lines int }

func (v figure) probe(name string) string { return fmt.Sprintf("len(%s.axes[0].lines)", name) }
func (v figure) want() any                { return v.lines }

// child is a process that the session has started. code is its return code,
// nil while it runs.
type child struct{ code *int }

func (v child) probe(name string) string { return name + ".poll()" }
func (v child) want() any                { return v.code }

// thread is a Python thread that runs until its event is set.
type thread struct{ alive bool }

func (v thread) probe(name string) string { return name + ".is_alive()" }
func (v thread) want() any                { return v.alive }

type event struct{ set bool }

func (v event) probe(name string) string { return name + ".is_set()" }
func (v event) want() any                { return v.set }
