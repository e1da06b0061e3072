package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// steppers are the plain work of the sessions, each with a weight: they make a step
// that fits the session's state, or say false. Any step may stand alone, before a
// death, or before something that takes for ever.
var steppers = []struct {
	weight int
	make   func(*session) (step, bool)
}{
	{6, variable{code: "$v = $a", to: func(_ []int64, a, _ int64) value { return number(a) }, pure: true}.step},
	{6, variable{of: "number", code: "$v += $a\n$v", to: func(v []int64, a, _ int64) value { return number(v[0] + a) }, shown: true}.step},
	{4, variable{code: "$v = [i * i for i in range($b % 50)]", to: squares, pure: true}.step},
	{6, variable{of: "list", code: "$v.append($a); $v.extend([$b])", to: func(v []int64, a, b int64) value { return listOf(with(v, a, b)...) }}.step},
	{2, variable{code: "$v = {'of': [[$a]]}", to: func(_ []int64, a, _ int64) value { return nestOf(a) }, pure: true}.step},
	{4, variable{of: "nest", code: "$v['of'][0].append($a)", to: func(v []int64, a, _ int64) value { return nestOf(with(v, a)...) }, told: true}.step},
	{3, variable{library: "numpy", code: "import numpy as np\n$v = np.arange(3 * 10 ** ($b % 6), dtype=np.int64) * $a % $m", to: multiples, slow: true}.step},
	{6, variable{of: "array", code: "$v[::$b % 7 + 1] = ($v[::$b % 7 + 1] * $a + $b) % $m", to: changeArray}.step},
	{2, variable{library: "pandas", code: "import pandas as pd\n$v = pd.DataFrame({'a': range($b)}); $v['b'] = $v['a'] * $a",
		to: func(_ []int64, a, b int64) value { return frameOf(b, a*b*(b-1)/2) }, slow: true}.step},
	{3, variable{of: "frame", code: "$v['b'] += $a", to: func(v []int64, a, _ int64) value { return frameOf(v[0], v[1]+a*v[0]) }, slow: true}.step},
	{3, variable{code: "def $v(x):\n    return $a * x + $b\n$v(7)", to: func(_ []int64, a, b int64) value { return function(a, b) }, shown: true}.step},
	{2, variable{code: "import math as $v", to: func([]int64, int64, int64) value { return mathModule }}.step},
	{3, variable{code: "$v = (i for i in range(10**9))", to: func([]int64, int64, int64) value { return generator(-1) }}.step},
	{4, variable{of: "generator", code: "next($v)", to: func(v []int64, _, _ int64) value { return generator(v[0] + 1) }, shown: true}.step},
	{2, assignLong},
	{2, deleteVariable},
	{4, seed},
	{8, draw},
	{4, writeFile},
	{4, printBoth},
	{2, printFromChild},
	{2, displaySome},
	{1, showSome},
}

// anyStep returns a random step.
func (s *session) anyStep() step {
	for {
		i := weighted(s.random, len(steppers), func(i int) int { return steppers[i].weight })
		if t, ok := steppers[i].make(s); ok {
			return t
		}
	}
}

// quickStep returns a random step that a short time limit leaves in peace.
func (s *session) quickStep() step {
	for {
		if t := s.anyStep(); !t.slow {
			return t
		}
	}
}

// name returns one of the few names that a session uses for its plain variables.
func (s *session) name() string { return fmt.Sprintf("v_%d", s.random.IntN(8)) }

func (s *session) small() int64 { return int64(s.random.IntN(1000)) }

// set is the change that gives a variable a value.
func set(name string, v value) func(*state) {
	return func(s *state) { s.variables[name] = v }
}

// variable makes steps that give a variable $v a value, with the numbers $a and $b.
type variable struct {
	of      string // kind of value that it has before, "" if that doesn't matter
	library string // that it takes
	code    string
	to      func(v []int64, a, b int64) value // its value, by what it is made of before
	pure    bool                              // the code changes nothing else
	shown   bool                              // the code shows the value, or what its probe gives
	told    bool                              // the answer must name it as changed
	slow    bool
}

func (p variable) step(s *session) (step, bool) {
	name, a, b := s.name(), s.small(), s.small()
	if p.of != "" {
		var names []string
		for _, name := range sortedKeys(s.model.now.variables) {
			if s.model.now.variables[name].kind == p.of {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			return step{}, false
		}
		name = pick(s.random, names...)
	}
	before, known := s.model.now.variables[name]
	after := p.to(before.of, a, b)
	t := step{code: expand(p.code, name, a, b), change: set(name, after), slow: p.slow}
	if p.pure && !known {
		t.added = []string{name}
	}
	if p.told {
		t.changed = []string{name}
	}
	if p.shown {
		t.stdout = fmt.Sprintln(after.want)
	}
	if p.shown && after.kind == "number" {
		t.variable, t.result = name, fmt.Sprint(after.want)
	}
	return t, p.library == "" || s.python.Has[p.library]
}

// expand puts a name and numbers into code.
func expand(code, name string, a, b int64) string {
	values := map[string]any{"v": name, "a": a, "b": b, "m": modulus}
	return os.Expand(code, func(key string) string { return fmt.Sprint(values[key]) })
}

func with(v []int64, more ...int64) []int64 { return append(slices.Clone(v), more...) }

func squares(_ []int64, _, b int64) value {
	v := make([]int64, b%50) // never null
	for i := range v {
		v[i] = int64(i * i)
	}
	return listOf(v...)
}

func multiples(_ []int64, a, b int64) value {
	n := 3
	for range b % 6 {
		n *= 10
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(i) * a % modulus
	}
	return arrayOf(v)
}

func changeArray(v []int64, a, b int64) value {
	v = slices.Clone(v)
	for i := 0; i < len(v); i += int(b%7) + 1 {
		v[i] = (v[i]*a + b) % modulus
	}
	return arrayOf(v)
}

// assignLong gives a variable a name that no list has whole.
func assignLong(s *session) (step, bool) {
	name, n := s.name()+strings.Repeat("_long", 1+s.random.IntN(4_000)), s.small()
	return step{code: fmt.Sprintf("%s = %d", name, n), change: set(name, number(n))}, true
}

// generators are the modules that draw random numbers, with code that draws one as the
// reference does.
var generators = map[string]string{
	"random":    "random.getrandbits(32)",
	"np.random": "int.from_bytes(np.random.bytes(4), 'little')",
}

// seed seeds a generator; some numbers are drawn at once, so that its state
// is at any place.
func seed(s *session) (step, bool) {
	name := pick(s.random, sortedKeys(generators)...)
	draws := s.python.Draws[name]
	if draws == nil {
		return step{}, false
	}
	at := stream{1 + s.random.IntN(len(draws)-1), s.random.IntN(len(draws[0]) - 100)}
	module, _, _ := strings.Cut(name, ".")
	load := map[string]string{"random": "import random", "np": "import numpy as np"}[module]
	code := fmt.Sprintf("%s\n%s.seed(%d)\nfor _ in range(%d): %s", load, name, at.seed, at.drawn, generators[name])
	return step{code: code, change: func(now *state) { now.streams[name] = at }, slow: true}, true
}

// draw draws three numbers.
func draw(s *session) (step, bool) {
	name := pick(s.random, sortedKeys(generators)...)
	at := s.model.now.streams[name]
	if at.seed == 0 || at.drawn+3 > len(s.python.Draws[name][at.seed]) {
		return step{}, false
	}
	numbers := s.python.Draws[name][at.seed][at.drawn : at.drawn+3]
	at.drawn += 3
	return step{
		code:   "[" + generators[name] + " for _ in range(3)]",
		stdout: fmt.Sprintf("[%d, %d, %d]\n", numbers[0], numbers[1], numbers[2]),
		change: func(now *state) { now.streams[name] = at },
	}, true
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

// bulkCode prints lines, whose numbers make gaps visible, as bulkLine has them.
const bulkCode = "for i in range(%d):\n    print(f'line {i:07d} ' + 'x' * 50)"

func bulkLine(i int) string { return fmt.Sprintf("line %07d %s\n", i, strings.Repeat("x", 50)) }

// bulk prints more than an answer holds.
func (s *session) bulk() step {
	lines := 100 + s.random.IntN(20_000)
	var text strings.Builder
	for i := range lines {
		text.WriteString(bulkLine(i))
	}
	return step{code: fmt.Sprintf(bulkCode, lines), stdout: text.String(), slow: true}
}

// showSome shows figures with long titles.
func showSome(s *session) (step, bool) {
	n, title := 2+s.random.IntN(3), strings.Repeat("title ", 1+s.random.IntN(100))
	code := fmt.Sprintf("import matplotlib.pyplot as plt\nfor k in range(%d):\n    plt.figure(figsize=(1, 1)); plt.title(%q); plt.show()\nplt.close('all')", n, title)
	return step{code: code, figures: n, slow: true}, s.python.Has["matplotlib"]
}

// displaySome shows values that are text.
func displaySome(s *session) (step, bool) {
	n, text := 1+s.random.IntN(5), ""
	for k := range n {
		text += fmt.Sprintf("%d\n", k)
	}
	return step{code: fmt.Sprintf("for k in range(%d):\n    display(k)", n), stdout: text}, true
}

// showFigure shows a figure and keeps its object.
func (s *session) showFigure() step {
	name, lines := s.name(), 1+s.small()%3
	code := fmt.Sprintf("import matplotlib.pyplot as plt\n%s = plt.figure(figsize=(2, 2))\nfor k in range(%d):\n    plt.plot([k, 1]);\nplt.show()", name, lines)
	return step{code: code, change: set(name, figure(lines)), figures: 1, slow: true}
}

// startThread starts a thread, with which the interpreter can't be copied.
func startThread() step {
	code := fmt.Sprintf("import threading\n%[1]s = threading.Event()\n%[2]s = threading.Thread(target=%[1]s.wait, daemon=True); %[2]s.start()", eventName, threadName)
	return step{code: code, change: func(now *state) {
		maps.Copy(now.variables, map[string]value{eventName: event(false), threadName: liveThread})
	}}
}

func endThread() step {
	return step{code: fmt.Sprintf("%s.set(); %s.join()", eventName, threadName), change: func(now *state) {
		maps.Copy(now.variables, map[string]value{eventName: event(true), threadName: endedThread})
	}}
}

// startChild starts a process that outlives the call, but not the interpreter.
func startChild() step {
	code := "import subprocess\n" + childName + " = subprocess.Popen(['sleep', '1000'])"
	return step{code: code, change: set(childName, runningChild), slow: true}
}
