package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/dustin/go-humanize"
)

// decoded is a mapper of what parse makes of a flag's text.
func decoded[T any](parse func(text string) (T, error)) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("value", &text); err != nil {
			return err
		}
		value, err := parse(text)
		if err == nil {
			target.Set(reflect.ValueOf(value))
		}
		return err
	})
}

// listOf takes values separated by commas, or a list of a file's, each one once.
func listOf(parse func(string) (string, error)) kong.Mapper {
	return kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
		texts, err := popTexts(ctx)
		if err != nil {
			return err
		}
		if len(texts) == 0 {
			texts = []string{""} // which most don't take
		}
		var list []string
		for _, one := range texts {
			parsed, err := parse(one)
			if err != nil {
				return err
			}
			if parsed != "" && !slices.Contains(list, parsed) {
				list = append(list, parsed)
			}
		}
		target.Set(reflect.ValueOf(list))
		return nil
	})
}

// popTexts returns the values of a flag: what is between the commas of a command line, or
// the items of a list in a file.
func popTexts(ctx *kong.DecodeContext) (texts []string, err error) {
	token, err := ctx.Scan.PopValue("value")
	if err != nil {
		return nil, err
	}
	if list, isList := token.Value.([]any); isList {
		for _, item := range list {
			texts = append(texts, fmt.Sprint(item))
		}
		return texts, nil
	}
	for _, one := range kong.SplitEscaped(token.String(), ',') {
		texts = append(texts, strings.TrimSpace(one))
	}
	return texts, nil
}

// parseTimeLimit takes a duration that is more than 0, or none, which is LimitNone.
func parseTimeLimit(text string) (time.Duration, error) {
	if strings.TrimSpace(text) == "none" {
		return LimitNone, nil
	}
	limit, err := parseDuration(text)
	if err == nil && limit == 0 {
		err = fmt.Errorf("%q leaves no time; write a duration that is more than 0, as 10m, or none for no limit", text)
	}
	return limit, err
}

// parseDuration takes Go's notation, as 1m30s, and bare seconds, as 45 or 0.5.
func parseDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil {
		seconds, notNumber := strconv.ParseFloat(text, 64)
		// NaN fails every comparison, so it is refused too.
		if notNumber != nil || !(math.Abs(seconds) < math.MaxInt64/float64(time.Second)) {
			return 0, fmt.Errorf("%q is not a duration; write 45s, 10m, 1h or a number of seconds", text)
		}
		duration = time.Duration(seconds * float64(time.Second))
	}
	if duration < 0 {
		return 0, fmt.Errorf("%q is negative; a duration must be 0 or more", text)
	}
	return duration, nil
}

// parseSize takes bytes, as 4096, 900KB (thousands) or 1MiB (1024 squared).
func parseSize(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size; write 4096, 900KB, 1MiB or 1GB", text)
	}
	return int64(size), nil
}

// moduleName is the name of a Python module, as matplotlib.pyplot.
var moduleName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{Nd}_]*(\.[\p{L}_][\p{L}\p{Nd}_]*)*$`)

// parseModule takes the name of a module; none is no module at all.
func parseModule(name string) (string, error) {
	switch {
	case name == "none":
		return "", nil
	case name != "" && !moduleName.MatchString(name):
		return "", fmt.Errorf("%q is not the name of a module; write numpy,matplotlib.pyplot or none", name)
	}
	return name, nil
}

// textOrFile takes a text as it is, or the content of a file as @FILE.
func textOrFile(text string) (string, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	content, err := os.ReadFile(kong.ExpandPath(name))
	if err != nil {
		return "", fmt.Errorf("reading the text: %w", err)
	}
	return string(content), nil
}

// checkBounds holds numbers against the bounds in their tags: least, most, and free for a
// value besides. A limit may be auto or none, too.
func checkBounds(flags []*kong.Flag) error {
	number := func(flag *kong.Flag, tag string, usual float64) float64 {
		if n, err := flag.Tag.GetFloat(tag); err == nil {
			return n
		}
		return usual
	}
	text := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	var problems []error
	for _, flag := range flags {
		if !flag.Tag.Has("least") {
			continue
		}
		value := flag.Target.Convert(reflect.TypeFor[float64]()).Float()
		least, most := number(flag, "least", 0), number(flag, "most", math.Inf(1))
		isLimit := flag.Tag.Type == typeLimit || flag.Tag.Type == typeCount
		within := value >= least && value <= most // which NaN never is
		if within || value == number(flag, "free", math.NaN()) || isLimit && (value == LimitAuto || value == LimitNone) {
			continue
		}
		must := "at least " + text(least)
		if !math.IsInf(most, 1) {
			must = "from " + text(least) + " to " + text(most)
		}
		if isLimit {
			must += ", or none, or auto"
		}
		if hint := flag.Tag.Get("hint"); hint != "" {
			must += "; " + hint
		}
		problems = append(problems, fmt.Errorf("%s is %s; it must be %s", flag.Name, text(value), must))
	}
	return errors.Join(problems...)
}
