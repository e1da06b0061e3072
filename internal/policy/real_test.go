package policy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/pyworker"
	"understudy/sessions"
)

// realChecker starts the checker that the program comes with.
func realChecker(t testing.TB) *starter {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(filepath.Join(dir, "pyworker"), pyworker.Files))
	return &starter{file: filepath.Join(dir, "pyworker", "policy", "verify.py")}
}

func realVerifier(t testing.TB, place string, more Additions) *Verifier {
	t.Helper()
	source, err := Open(place, more, nil)
	must(t, err)
	v := NewVerifier(Options{Source: source, Start: realChecker(t).start, Limit: time.Minute})
	t.Cleanup(v.Close)
	return v
}

const usualCell = `import pandas as pd
import numpy as np
import matplotlib.pyplot as plt

df = pd.read_csv("sales.csv", parse_dates=["day"])
df = df[df.amount > 0].assign(month=lambda d: d.day.dt.to_period("M"))
totals = df.groupby(["month", "shop"], as_index=False)["amount"].sum()

def growth(series, periods=1):
    """Relative change against some periods before."""
    shifted = series.shift(periods)
    return (series - shifted) / shifted.replace(0, np.nan)

totals["growth"] = totals.groupby("shop")["amount"].transform(growth)
best = {shop: part.amount.max() for shop, part in totals.groupby("shop")}

fig, axes = plt.subplots(1, 2, figsize=(10, 4))
for shop, part in totals.groupby("shop"):
    axes[0].plot(part.month.astype(str), part.amount, label=f"{shop}: {best[shop]:.0f}")
axes[0].legend()
axes[1].hist(totals.growth.dropna(), bins=30)
fig.suptitle("Sales")
plt.show()
print(totals.describe())
totals.tail()
`

// TestDefaultsWithTheRealChecker: it understands all rules that are shipped, lets
// usual work through, and refuses what they are there for.
func TestDefaultsWithTheRealChecker(t *testing.T) {
	v := realVerifier(t, DefaultsName, Additions{})
	for _, code := range []string{"", "1 + 1", usualCell, "import re\nre.compile('a')"} {
		err := verify(t.Context(), v, "", sessions.RunsCode, code)
		expect(t, err == nil, "%s\n%v", code, err)
	}
	for _, code := range []string{"import os\nos.system('ls')", "import subprocess", "eval('1')", "().__class__.__base__.__subclasses__()"} {
		err := verify(t.Context(), v, "", sessions.RunsCode, code)
		expect(t, sessions.CodeOf(err) == sessions.CodeRefused, "%s: %v", code, err)
	}
	err := verify(t.Context(), v, "", sessions.RunsCode, "x = (1,")
	expect(t, errors.Is(err, sessions.ErrSyntax) && strings.Contains(err.Error(), "line 1"), "%v", err)
}

// TestEveryRuleWithTheRealChecker: each key of the file is one of the checker's.
func TestEveryRuleWithTheRealChecker(t *testing.T) {
	for rules, code := range map[string]string{
		"allowed_modules: [math]":                     "import json",
		"blocked_modules: [json]":                     "import json",
		"blocked_functions: [json.dumps]":             "import json\njson.dumps(1)",
		"blocked_attributes: [secret]":                "x = 1\nx.secret",
		"allowed_variables: [df_*]":                   "x = 1",
		"{extends: defaults, blocked_functions: []}":  "import subprocess",
		"{extends: defaults, blocked_modules: [...]}": "import subprocess",
	} {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		must(t, os.WriteFile(path, []byte(rules), 0o600))
		v := realVerifier(t, path, Additions{})
		err := verify(t.Context(), v, "", sessions.RunsCode, code)
		expect(t, sessions.CodeOf(err) == sessions.CodeRefused && !strings.Contains(err.Error(), "could not be checked"), "%s: %v", rules, err)
		if err := verify(t.Context(), v, "", sessions.RunsCode, "df_1 = 1"); err != nil {
			t.Errorf("%s: %v", rules, err)
		}
	}
}

// TestToolsOfOtherServersWithTheRealChecker: they are modules and functions as any.
func TestToolsOfOtherServersWithTheRealChecker(t *testing.T) {
	const (
		search = "from mcptools import github\ngithub.search_issues(query='x')"
		create = "import mcptools\nmcptools.github.create_issue(title='x')"
		named  = "from mcptools.github import create_issue as c\nc(title='x')"
		other  = "from mcptools import slack"
	)
	for rules, runs := range map[string][]string{
		"extends: defaults":                                       {search, create, named, other},
		"allowed_modules: [pandas]":                               {},
		"allowed_modules: [pandas, mcptools]":                     {search, create, named, other},
		"allowed_modules: [pandas, mcptools.github]":              {search, named},
		"blocked_functions: [mcptools.github.create_issue]":       {search, other},
		"blocked_functions: ['mcptools.*.create_*']":              {search, other},
		"blocked_modules: [mcptools]":                             {},
		"{extends: defaults, blocked_modules: [mcptools.github]}": {other},
	} {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		must(t, os.WriteFile(path, []byte(rules), 0o600))
		v := realVerifier(t, path, Additions{})
		for _, code := range []string{search, create, named, other} {
			err := verify(t.Context(), v, "", sessions.RunsCode, code)
			expect(t, (err == nil) == slices.Contains(runs, code), "%s: %s\n%v", rules, code, err)
		}
	}
}

// TestInstallsWithTheRealChecker: they are judged as the line of code that does the same.
func TestInstallsWithTheRealChecker(t *testing.T) {
	for rules, refusedFor := range map[string]string{
		"magics: {pip: refuse}":                            "packages can't be installed",
		"blocked_modules: [json]":                          "packages can't be installed",
		"pip_packages: [numpy]":                            "package polars is not allowed: packages that can be installed: numpy",
		"{blocked_modules: [json], pip_packages: [numpy]}": "package polars is not allowed",
		"pip_packages: [numpy, polars]":                    "",
		"blocked_functions: [open]\nmagics: {pip: allow}":  "",
	} {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		must(t, os.WriteFile(path, []byte(rules), 0o600))
		v := realVerifier(t, path, Additions{})
		err := verify(t.Context(), v, "", sessions.RunsInstall, "%pip install numpy 'polars>=1'")
		if refusedFor == "" {
			expect(t, err == nil, "%s: %v", rules, err)
			continue
		}
		refused(t, err, "Not run: 1 thing in the installation is against the policy", refusedFor, "Nothing has run. Do with")
		expect(t, !strings.Contains(err.Error(), "line 1"), "%v", err)
	}
}

// BenchmarkVerify is what a policy adds to each call: a usual cell of 27 lines under
// the default rules, with the ways to the checker and back.
func BenchmarkVerify(b *testing.B) {
	v := realVerifier(b, DefaultsName, Additions{})
	must(b, v.Warm(context.Background()))
	for b.Loop() {
		must(b, verify(b.Context(), v, "", sessions.RunsCode, usualCell))
	}
}

// TestRealVerifierGivesWhatItJudged: a cell in IPython's dialect runs as what was judged.
func TestRealVerifierGivesWhatItJudged(t *testing.T) {
	v := realVerifier(t, DefaultsName, Additions{})
	judged, err := v.Verify(t.Context(), "", sessions.RunsCode, "x = 1")
	expect(t, err == nil && judged.Source == "x = 1", "%+v, %v", judged, err)
	judged, err = v.Verify(t.Context(), "", sessions.RunsCode, "%time 1")
	if errors.Is(err, sessions.ErrSyntax) {
		t.Skip("the Python of the tests has no IPython")
	}
	expect(t, err == nil && judged.Source == "get_ipython().run_line_magic('time', '1')\n", "%+v, %v", judged, err)
	err = verify(t.Context(), v, "", sessions.RunsFile, "%time 1")
	expect(t, errors.Is(err, sessions.ErrSyntax), "a file with a magic: %v", err)
}
