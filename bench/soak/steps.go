package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A stepper makes a step that fits the session's state; false when none does.
type stepper func(*session) (step, bool)

// steppers are the plain work of the sessions, each with a weight. Any step may
// stand alone, before a death, or before something that takes for ever.
var steppers = []struct {
	weight int
	make   stepper
}{
	{6, assignNew},
	{2, assignLong},
	{1, showSome},
	{2, displaySome},
	{6, increment},
	{4, makeList},
	{6, appendToList},
	{2, makeNest},
	{4, changeNest},
	{3, makeArray},
	{6, changeArray},
	{2, makeFrame},
	{3, changeFrame},
	{3, defineFunction},
	{2, importModule},
	{3, makeGenerator},
	{4, advanceGenerator},
	{2, seedRandom},
	{4, drawRandom},
	{2, seedNumpy},
	{4, drawNumpy},
	{2, deleteVariable},
	{4, writeFile},
	{4, printBoth},
	{2, printFromChild},
}

// anyStep returns a random step.
func (s *session) anyStep() step { return s.stepThat(func(step) bool { return true }) }

// quickStep returns a random step that a short time limit leaves in peace.
func (s *session) quickStep() step { return s.stepThat(func(t step) bool { return !t.slow }) }

func (s *session) stepThat(fits func(step) bool) step {
	total := 0
	for _, option := range steppers {
		total += option.weight
	}
	for {
		at := s.random.IntN(total)
		for _, option := range steppers {
			if at -= option.weight; at >= 0 {
				continue
			}
			if t, ok := option.make(s); ok && fits(t) {
				return t
			}
			break
		}
	}
}

// poolSize is how many names a session uses for its plain variables.
const poolSize = 8

func (s *session) name() string { return fmt.Sprintf("v_%d", s.random.IntN(poolSize)) }

// holding returns a name whose value is a T, and the value.
func holding[T value](s *session) (string, T, bool) {
	var names []string
	for _, name := range sortedKeys(s.model.now.variables) {
		if _, ok := s.model.now.variables[name].(T); ok {
			names = append(names, name)
		}
	}
	var none T
	if len(names) == 0 {
		return "", none, false
	}
	name := pick(s.random, names...)
	return name, s.model.now.variables[name].(T), true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// set is the change that gives a variable a value.
func set(name string, v value) func(*state) {
	return func(s *state) { s.variables[name] = v }
}

func (s *session) small() int64 { return int64(s.random.IntN(1000)) }

func assignNew(s *session) (step, bool) {
	name, n := s.name(), s.small()
	t := step{code: fmt.Sprintf("%s = %d", name, n), change: set(name, number(n))}
	if _, known := s.model.now.variables[name]; !known {
		t.added = []string{name}
	}
	return t, true
}

// assignLong gives a variable a name that no list has whole.
func assignLong(s *session) (step, bool) {
	name, n := s.name()+strings.Repeat("_long", 1+s.random.IntN(4_000)), s.small()
	return step{code: fmt.Sprintf("%s = %d", name, n), change: set(name, number(n))}, true
}

func increment(s *session) (step, bool) {
	name, v, ok := holding[number](s)
	by := number(s.small())
	return step{
		code:   fmt.Sprintf("%s += %d\n%s", name, by, name),
		stdout: fmt.Sprintf("%d\n", v+by), change: set(name, v+by),
		variable: name, result: fmt.Sprint(v + by),
	}, ok
}

func makeList(s *session) (step, bool) {
	name, n := s.name(), s.random.IntN(50)
	v := make(list, n)
	for i := range v {
		v[i] = int64(i * i)
	}
	return step{code: fmt.Sprintf("%s = [i * i for i in range(%d)]", name, n), change: set(name, v)}, true
}

func appendToList(s *session) (step, bool) {
	name, v, ok := holding[list](s)
	a, b := s.small(), s.small()
	return step{code: fmt.Sprintf("%[1]s.append(%[2]d); %[1]s.extend([%[3]d])", name, a, b), change: set(name, v.with(a, b))}, ok
}

func makeNest(s *session) (step, bool) {
	name, n := s.name(), s.small()
	return step{code: fmt.Sprintf("%s = {'of': [[%d]]}", name, n), change: set(name, nest{n})}, true
}

// changeNest changes what no assignment shows; the answer must name it all the same.
func changeNest(s *session) (step, bool) {
	name, v, ok := holding[nest](s)
	n := s.small()
	return step{
		code:   fmt.Sprintf("%s['of'][0].append(%d)", name, n),
		change: set(name, nest(list(v).with(n))), changed: []string{name},
	}, ok
}

func makeArray(s *session) (step, bool) {
	name, n, factor := s.name(), pick(s.random, 10, 1000, 300_000), s.small()
	v := make(array, n)
	for i := range v {
		v[i] = int64(i) * factor % modulus
	}
	code := fmt.Sprintf("import numpy as np\n%s = np.arange(%d, dtype=np.int64) * %d %% %d", name, n, factor, modulus)
	return step{code: code, change: set(name, v), slow: true}, s.has.numpy
}

func changeArray(s *session) (step, bool) {
	name, v, ok := holding[array](s)
	every, factor, plus := pick(s.random, 1, 2, 7), s.small(), s.small()
	code := fmt.Sprintf("%[1]s[::%[2]d] = (%[1]s[::%[2]d] * %[3]d + %[4]d) %% %[5]d", name, every, factor, plus, modulus)
	return step{code: code, change: set(name, v.changed(every, func(x int64) int64 { return (x*factor + plus) % modulus }))}, ok
}

func makeFrame(s *session) (step, bool) {
	name, rows, factor := s.name(), int64(1+s.random.IntN(2000)), s.small()
	code := fmt.Sprintf("import pandas as pd\n%[1]s = pd.DataFrame({'a': range(%[2]d)}); %[1]s['b'] = %[1]s['a'] * %[3]d", name, rows, factor)
	return step{code: code, change: set(name, frame{rows, factor * rows * (rows - 1) / 2}), slow: true}, s.has.pandas
}

func changeFrame(s *session) (step, bool) {
	name, v, ok := holding[frame](s)
	plus := s.small()
	return step{code: fmt.Sprintf("%s['b'] += %d", name, plus), change: set(name, frame{v.rows, v.sum + plus*v.rows}), slow: true}, ok
}

func defineFunction(s *session) (step, bool) {
	name, f := s.name(), function{s.small(), s.small()}
	code := fmt.Sprintf("def %s(x):\n    return %d * x + %d\n%s(3)", name, f.factor, f.plus, name)
	return step{code: code, stdout: fmt.Sprintf("%d\n", f.factor*3+f.plus), change: set(name, f)}, true
}

func importModule(s *session) (step, bool) {
	name := s.name()
	return step{code: "import math as " + name, change: set(name, module{})}, true
}

func makeGenerator(s *session) (step, bool) {
	name := s.name()
	return step{code: name + " = (i for i in range(10**9))", change: set(name, generator{-1})}, true
}

func advanceGenerator(s *session) (step, bool) {
	name, v, ok := holding[generator](s)
	next := generator{v.last + 1}
	return step{code: fmt.Sprintf("next(%s)", name), stdout: fmt.Sprintf("%d\n", next.last), change: set(name, next)}, ok
}

func seedRandom(s *session) (step, bool) {
	seed := s.random.Uint32()
	t := seedKey(seed)
	return step{code: fmt.Sprintf("import random\nrandom.seed(%d)", seed), change: func(now *state) { now.random = &t }}, true
}

func drawRandom(s *session) (step, bool) {
	after, text := drawn(s.model.now.random)
	return step{
		code:   "[random.getrandbits(32) for _ in range(3)]",
		stdout: text, change: func(now *state) { now.random = after },
	}, after != nil
}

func seedNumpy(s *session) (step, bool) {
	seed := s.random.Uint32()
	t := seedNumber(seed)
	code := fmt.Sprintf("import numpy as np\nnp.random.seed(%d)", seed)
	return step{code: code, change: func(now *state) { now.numpy = &t }, slow: true}, s.has.numpy
}

func drawNumpy(s *session) (step, bool) {
	after, text := drawn(s.model.now.numpy)
	return step{
		code:   "[int.from_bytes(np.random.bytes(4), 'little') for _ in range(3)]",
		stdout: text, change: func(now *state) { now.numpy = after },
	}, after != nil
}

// drawn returns a generator after three draws, and the draws as Python prints them.
func drawn(before *twister) (*twister, string) {
	if before == nil {
		return nil, ""
	}
	after := *before
	return &after, fmt.Sprintf("[%d, %d, %d]\n", after.draw(), after.draw(), after.draw())
}

func deleteVariable(s *session) (step, bool) {
	name := s.name()
	_, ok := s.model.now.variables[name]
	return step{code: "del " + name, change: func(now *state) { delete(now.variables, name) }}, ok
}

func writeFile(s *session) (step, bool) {
	name, text := s.file(fmt.Sprintf("f_%d", s.random.IntN(4))), strings.Repeat(fmt.Sprintf("%d\n", s.small()), 1+s.random.IntN(100))
	code := fmt.Sprintf("with open(%q, 'w') as file:\n    file.write(%q)", name, text)
	return step{code: code, files: map[string]string{name: text}}, true
}

func printBoth(s *session) (step, bool) {
	a, b := s.small(), s.small()
	code := fmt.Sprintf("import sys\nprint('out', %d)\nprint('err', %d, file=sys.stderr)\nprint('fertig, größer')", a, b)
	return step{code: code, stdout: fmt.Sprintf("out %d\nfertig, größer\n", a), stderr: fmt.Sprintf("err %d\n", b)}, true
}

func printFromChild(s *session) (step, bool) {
	n := s.small()
	code := fmt.Sprintf("import os, subprocess\nsubprocess.run(['sh', '-c', 'echo child %d']);\nos.write(1, b'raw\\n');", n)
	return step{code: code, stdout: fmt.Sprintf("child %d\nraw\n", n), slow: true}, true
}

// bulkLine is a line of bulk output; its number makes gaps visible.
func bulkLine(i int) string { return fmt.Sprintf("line %07d %s\n", i, strings.Repeat("x", 50)) }

// printBulk prints lines.
func printBulk(lines int) step {
	var text strings.Builder
	for i := range lines {
		text.WriteString(bulkLine(i))
	}
	code := fmt.Sprintf("for i in range(%d):\n    print(f'line {i:07d} ' + 'x' * 50)", lines)
	return step{code: code, stdout: text.String(), slow: true}
}

// showSome shows figures with long titles, some of them named and saved.
func showSome(s *session) (step, bool) {
	n, title := 2+s.random.IntN(3), strings.Repeat("title ", 1+s.random.IntN(100))
	code := fmt.Sprintf("import matplotlib.pyplot as plt\nfor k in range(%d):\n    plt.figure(figsize=(1, 1)); plt.title(%q); plt.show()\nplt.close('all')", n, title)
	return step{code: code, figures: n, slow: true}, s.has.matplotlib
}

// displaySome shows values that are text.
func displaySome(s *session) (step, bool) {
	n := 1 + s.random.IntN(5)
	code := fmt.Sprintf("for k in range(%d):\n    display(k)", n)
	var text strings.Builder
	for k := range n {
		fmt.Fprintf(&text, "%d\n", k)
	}
	return step{code: code, stdout: text.String()}, true
}

// showFigure shows a figure and keeps its object.
func showFigure(s *session) step {
	name, lines := s.name(), 1+s.random.IntN(3)
	code := fmt.Sprintf("import matplotlib.pyplot as plt\n%s = plt.figure(figsize=(2, 2))\nfor k in range(%d):\n    plt.plot([k, 1]);\nplt.show()", name, lines)
	return step{code: code, change: set(name, figure{lines}), figures: 1, slow: true}
}
