package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"understudy/internal/auth"
	"understudy/internal/config"
)

// Token makes a bearer token: the token itself goes to out, once, and what the
// server is to know of it to the file or to hints, which are a token file then:
// the sentences around the line are comments.
func Token(c *config.Config, out, hints io.Writer) error {
	expires, err := expiry(c.Token, time.Now())
	if err != nil {
		return err
	}
	var scopes []string
	if c.Token.For != "" {
		scopes = strings.Split(c.Token.For, ",")
	}
	made, err := auth.Make(c.Token.Name, scopes, expires)
	if err != nil {
		return err
	}
	if c.Token.AddTo == "" {
		fmt.Fprintf(hints, "# Add this line to the file of --auth-tokens:\n%s\n# The token itself is on standard output and is shown only now:\n", made.Line)
	} else {
		if err := auth.Add(c.Token.AddTo, made); err != nil {
			return err
		}
		fmt.Fprintf(hints, "%s may come in now: a line was added to %s. This is the token, which is shown only now:\n", c.Token.Name, c.Token.AddTo)
	}
	_, err = fmt.Fprintln(out, made.Token)
	return err
}

// expiry is when the token ends; zero is never.
func expiry(t config.Token, now time.Time) (time.Time, error) {
	if t.Expires == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(t.Expires); err == nil && d > 0 {
		return now.Add(d).Truncate(time.Second), nil
	}
	if days, isDays := strings.CutSuffix(t.Expires, "d"); isDays {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n > 0 {
			return now.AddDate(0, 0, int(n)).Truncate(time.Second), nil
		}
	}
	moment, err := auth.ParseDay(t.Expires)
	switch {
	case err != nil:
		return moment, fmt.Errorf("expires: %w, 90d or 12h", err)
	case !moment.After(now):
		return moment, fmt.Errorf("expires: %s is over already", t.Expires)
	}
	return moment, nil
}
