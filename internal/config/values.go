package config

import (
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

// decodeDuration takes Go's notation, as 1m30s, and bare seconds, as 45 or 0.5.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	duration, err := parseDuration(text)
	if err != nil {
		return err
	}
	target.SetInt(int64(duration))
	return nil
}

// decodeTimeLimit takes a duration that is more than 0, or none, which is LimitNone.
func decodeTimeLimit(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "none" {
		target.SetInt(LimitNone)
		return nil
	}
	limit, err := parseDuration(text)
	if err != nil {
		return err
	}
	if limit == 0 {
		return fmt.Errorf("%q leaves no time; write a duration that is more than 0, as 10m, or none for no limit", text)
	}
	target.SetInt(int64(limit))
	return nil
}

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

// decodeSize takes bytes, as 4096, 900KB (thousands) or 1MiB (1024 squared).
func decodeSize(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return fmt.Errorf("%q is not a size; write 4096, 900KB, 1MiB or 1GB", text)
	}
	target.SetInt(int64(size))
	return nil
}

// moduleName is the name of a Python module, as matplotlib.pyplot.
var moduleName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{Nd}_]*(\.[\p{L}_][\p{L}\p{Nd}_]*)*$`)

// decodeModules takes names of modules separated by commas; none, or an empty
// text, is no module at all.
func decodeModules(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	modules, err := parseModules(text)
	if err != nil {
		return err
	}
	target.Set(reflect.ValueOf(modules))
	return nil
}

func parseModules(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "none" {
		return nil, nil
	}
	var modules []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !moduleName.MatchString(name) {
			return nil, fmt.Errorf("%q is not the name of a module; write numpy,matplotlib.pyplot or none", name)
		}
		if !slices.Contains(modules, name) {
			modules = append(modules, name)
		}
	}
	return modules, nil
}

// decodeText takes a text as it is, or the content of a file as @FILE.
func decodeText(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	if name, isFile := strings.CutPrefix(text, "@"); isFile {
		content, err := os.ReadFile(kong.ExpandPath(name))
		if err != nil {
			return fmt.Errorf("reading the text: %w", err)
		}
		text = string(content)
	}
	target.SetString(text)
	return nil
}

func popText(ctx *kong.DecodeContext) (string, error) {
	var text string
	err := ctx.Scan.PopValueInto("value", &text)
	return text, err
}
