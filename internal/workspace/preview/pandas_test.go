package preview

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// comparison writes tables and says what pandas reads of them.
const comparison = `
import json, sys
import numpy as np, pandas as pd
r = np.random.default_rng(7)
n = 500
f = pd.DataFrame({
    "whole": r.integers(-50, 50, n), "real": r.normal(size=n), "gaps": np.where(r.random(n) < .3, np.nan, r.normal(size=n)),
    "flag": r.random(n) < .5, "word": r.choice(["a,b", 'say "x"', "two\nlines", "é", "NA", ""], n), "none": [None] * n,
})
facts = {}
for name, how in {"a.csv": {}, "b.csv": {"sep": ";"}, "c.csv": {"sep": "\t"}, "d.csv": {"encoding": "utf-16"}, "e.csv": {"quoting": 1}, "f.csv": {"lineterminator": "\r\n"}, "g.csv.gz": {}}.items():
    f.to_csv(sys.argv[1] + "/" + name, index=False, **how)
    how.pop("quoting", 0); how.pop("lineterminator", 0)
    d = pd.read_csv(sys.argv[1] + "/" + name, **how)
    facts[name] = {"rows": len(d), "columns": [{"name": c, "missing": int(d[c].isna().sum()), "kind": d[c].dtype.kind, "distinct": int(d[c].nunique()),
        "least": float(d[c].min()) if c in ("whole", "real", "gaps") else 0, "most": float(d[c].max()) if c in ("whole", "real", "gaps") else 0} for c in d]}
json.dump(facts, sys.stdout)
`

// TestAsPandas: rows, missing and distinct values, types and ranges are those that
// pandas has.
func TestAsPandas(t *testing.T) {
	python := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if python == "" {
		t.Skip("UNDERSTUDY_TEST_PYTHON names no Python with pandas")
	}
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), python, "-c", comparison, dir)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var facts map[string]struct {
		Rows    int
		Columns []struct {
			Name, Kind        string
			Missing, Distinct int
			Least, Most       float64
		}
	}
	if err := json.Unmarshal(out, &facts); err != nil {
		t.Fatal(err)
	}
	kinds := map[valueKind]string{isInteger: "i", isNumber: "f", isBoolean: "b", isNothing: "f"}
	for name, fact := range facts {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		source := inMemory(data)
		sample, err := takeSample(source, &entry{name: name})
		if err != nil {
			t.Fatal(err)
		}
		table, err := tabulate(source, sample, sniff(sample.blocks[0], name, true))
		if err != nil || table.rows != fact.Rows || table.width != len(fact.Columns) {
			t.Fatalf("%s: %v, %d rows, %d columns", name, err, table.rows, table.width)
		}
		for i, want := range fact.Columns {
			c := table.columns[i]
			if c.name != want.Name || c.missing != want.Missing || len(c.distinct) != want.Distinct {
				t.Errorf("%s: %s, %d missing, %d distinct; pandas has %+v", name, c.name, c.missing, len(c.distinct), want)
			}
			if kind := kinds[c.kind()]; kind != "" && kind != want.Kind {
				t.Errorf("%s: %s is %s; pandas has %+v", name, c.name, c.kind(), want)
			}
			if math.Abs(c.least-want.Least) > 1e-12 || math.Abs(c.most-want.Most) > 1e-12 {
				t.Errorf("%s: %s from %g to %g; pandas has %+v", name, c.name, c.least, c.most, want)
			}
		}
	}
}
