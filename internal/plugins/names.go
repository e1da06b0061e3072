package plugins

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"understudy/schemas"
)

// identifier is what is a name for Python and for every client of MCP: some take
// only letters, digits and _, and 64 of them at most.
var identifier = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,59}$`)

const identifierWords = "a name of letters, digits and _ that begins with a letter and has at most 60 characters"

// module is the name of a Python module, as sklearn.ensemble.
var module = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// builtins are what Python itself has under such names, up to 3.14.
var builtins = strings.Fields(`ArithmeticError AssertionError AttributeError BaseException
	BaseExceptionGroup BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError
	ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError
	DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup
	FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError
	ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError
	KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError
	NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
	PendingDeprecationWarning PermissionError ProcessLookupError PythonFinalizationError
	RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration
	StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError
	UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError
	UnicodeWarning UserWarning ValueError Warning WindowsError ZeroDivisionError abs aiter all
	anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex
	copyright credits delattr dict dir divmod enumerate eval exec exit filter float format
	frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len
	license list locals map max memoryview min next object oct open ord pow print property quit
	range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars
	zip`)

// ours are the names that this server has given away: tools, and what code and
// plugins find beside Python's own.
var ours = strings.Fields("run_python_code manage_interpreters run_shell_command artifact understudy_plugin understudy_plugins")

// ofTools are the arguments that every plugin has as a tool, and context, by
// which a plugin gets what it may know of its session.
var ofTools = strings.Fields("interpreter_id timeout wait context")

// checkName says why a plugin can't have the name. One that can't is never put
// among Python's builtins, however broken the rest is.
func checkName(name string) error {
	switch {
	case !identifier.MatchString(name):
		return fmt.Errorf("%q is no name for a plugin: it must be %s", clip(name), identifierWords)
	case schemas.IsKeyword(name):
		return fmt.Errorf("%q is a word of Python's; give the plugin another name", name)
	case slices.Contains(builtins, name):
		return fmt.Errorf("%q is Python's own; give the plugin another name", name)
	case slices.Contains(ours, name):
		return fmt.Errorf("%q is a name of this server's; give the plugin another one", name)
	}
	return nil
}

func checkParameterName(name string) error {
	switch {
	case !identifier.MatchString(name):
		return fmt.Errorf("%q is no name for a parameter: it must be %s", clip(name), identifierWords)
	case schemas.IsKeyword(name):
		return fmt.Errorf("%q is a word of Python's; choose another name", name)
	case name == "self":
		return errors.New("self is how Python's methods call their object; choose another name")
	case slices.Contains(ofTools, name):
		return fmt.Errorf("%q is a name that this server gives to every plugin; choose another one", name)
	}
	return nil
}
