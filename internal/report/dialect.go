package report

import (
	"fmt"
	"regexp"
	"strings"
)

// What a cell of a notebook has around its Python.
var (
	fence        = regexp.MustCompile("^[ \\t]*(?:```|~~~)")
	prompt       = regexp.MustCompile(`^[ \t]*(?:>>>|\.\.\.|In \[\d+\]:|\.{3,}:)(?: |$)`)
	cellMagic    = regexp.MustCompile(`^(?:[ \t]*\n)*%%([\w!]+)[ \t]*([^\n]*)(?:\n|$)`)
	timeitOption = regexp.MustCompile(`^(?:-\w ?\d*[ \t]+)*`)
)

// withoutPrompts takes code fences, prompts and the indentation that all lines share off
// a cell that begins with one of them, as IPython and sessions do.
func withoutPrompts(code string) string {
	first := strings.TrimLeft(code, "\n")
	lines := strings.Split(code, "\n")
	switch {
	case fence.MatchString(first):
		inside := false
		for i, line := range lines {
			if fence.MatchString(line) {
				inside, lines[i] = !inside, ""
			} else if !inside {
				lines[i] = ""
			}
		}
	case prompt.MatchString(first) && !strings.HasPrefix(first, "..."):
		for i, line := range lines {
			lines[i] = prompt.ReplaceAllString(line, "")
		}
	case strings.HasPrefix(first, " ") || strings.HasPrefix(first, "\t"):
		indentation := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(line, indentation)
		}
	default:
		return code
	}
	return strings.Join(lines, "\n")
}

// withoutCellMagic puts Python in the place of a magic for a whole cell. One that means
// nothing without a notebook is left as comments.
func (p *plain) withoutCellMagic(code string) string {
	m := cellMagic.FindStringSubmatch(code)
	if m == nil {
		return code
	}
	name, line, body := m[1], strings.TrimSpace(m[2]), code[len(m[0]):]
	switch name {
	case "time", "capture", "prun":
		return comment("%%"+name+" "+line) + p.withoutCellMagic(body)
	case "timeit":
		setup := timeitOption.ReplaceAllString(line+" ", "")
		return comment("%%"+name+" "+line) + strings.TrimSpace(setup) + "\n" + p.withoutCellMagic(body)
	case "bash", "sh", "!", "sx", "system":
		p.shells = true
		return "understudy_shell(" + pythonText(body) + ")\n"
	case "writefile", "file":
		mode := "w"
		if rest, appends := strings.CutPrefix(line, "-a "); appends {
			line, mode = strings.TrimSpace(rest), "a"
		}
		return fmt.Sprintf("with open(%s, %q, encoding=\"utf-8\") as written:\n    written.write(%s)\n", pythonString(strings.Trim(line, `"'`)), mode, pythonString(body))
	}
	return comment(code)
}

var installer = regexp.MustCompile(`^(?:%(pip|conda)\b|!?(?:(?:python3?|\{sys\.executable\})[ \t]+-m[ \t]+)?(pip|conda)3?(?:[ \t\n]|$))`)

// call is the Python that a magic becomes.
func (p *plain) call(magic string, captured bool) string {
	arguments := ")"
	if captured {
		arguments = ", captured=True)"
	}
	if m := installer.FindStringSubmatchIndex(magic); m != nil {
		p.shells = true
		line := strings.ReplaceAll(program(magic, m)+" "+strings.TrimSpace(magic[m[1]:]), "\\\n", " ")
		return "understudy_install(" + pythonString(line) + arguments
	}
	if command, ok := strings.CutPrefix(magic, "!"); ok {
		p.shells = true
		return "understudy_shell(" + pythonString(strings.TrimSpace(strings.TrimPrefix(command, "!"))) + values(command) + arguments
	}
	name, line, _ := strings.Cut(strings.TrimPrefix(magic, "%"), " ")
	line = strings.TrimSpace(line)
	switch name {
	case "time":
		if line != "" {
			return line
		}
	case "pwd":
		return `__import__("os").getcwd()`
	case "cd":
		if line != "" && !strings.ContainsAny(line, "-{$~") {
			return `__import__("os").chdir(` + pythonString(strings.Trim(line, `"'`)) + ")"
		}
	case "env", "set_env":
		if name, value, found := strings.Cut(line, "="); found && !strings.ContainsAny(line, "{$") {
			return `__import__("os").environ.update({` + pythonString(strings.TrimSpace(name)) + ": " + pythonString(strings.TrimSpace(value)) + "})"
		}
	case "run":
		if strings.HasSuffix(line, ".py") && !strings.ContainsAny(line, " {$") {
			return `globals().update(__import__("runpy").run_path(` + pythonString(line) + `, run_name="__main__"))`
		}
	case "ls", "cat", "mkdir", "rm", "rmdir", "cp", "mv", "sx", "system":
		p.shells = true
		command := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(magic[1:], "sx "), "system "))
		return "understudy_shell(" + pythonString(command) + values(command) + arguments
	}
	return "None  # " + strings.ReplaceAll(magic, "\n", " ")
}

// values is the argument that gives a command Python's values, where it may have some.
func values(command string) string {
	if strings.ContainsAny(command, "{$") {
		return ", values={**globals(), **locals()}"
	}
	return ""
}

// program is the program that installs, pip or conda.
func program(magic string, m []int) string {
	if m[2] >= 0 {
		return magic[m[2]:m[3]]
	}
	return magic[m[4]:m[5]]
}
