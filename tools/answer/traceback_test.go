package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lib = "/home/u/env/lib/python3.12/"

func TestLibrariesAreFolded(t *testing.T) {
	for name, test := range map[string]struct{ trace, want string }{
		"the user's alone": {valueError, valueError},
		"a library's innermost frame stays": {
			`Traceback (most recent call last):
  File "<cell 1>", line 2, in <module>
    df["nope"]
    ~~^^^^^^^^
  File "` + lib + `site-packages/pandas/core/frame.py", line 4102, in __getitem__
    indexer = self.columns.get_loc(key)
              ^^^^^^^^^^^^^^^^^^^^^^^^^
  File "` + lib + `site-packages/numpy/x.py", line 3, in f
  File "` + lib + `site-packages/pandas/core/indexes/base.py", line 3812, in get_loc
    raise KeyError(key) from err
KeyError: 'nope'
`,
			`Traceback (most recent call last):
  File "<cell 1>", line 2, in <module>
    df["nope"]
    ~~^^^^^^^^
  … 2 frames in pandas, numpy
  File "pandas/core/indexes/base.py", line 3812, in get_loc
    raise KeyError(key) from err
KeyError: 'nope'
`,
		},
		"a function of the user's that a library calls, and a chain": {
			`Traceback (most recent call last):
  File "` + lib + `json/decoder.py", line 353, in raw_decode
    obj, end = self.scan_once(s, idx)
  File "index.pyx", line 167, in pandas._libs.index.get_loc
StopIteration: 0

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "work.py", line 2, in <module>
    df.apply(f)
  File "` + lib + `site-packages/pandas/core/frame.py", line 4102, in apply
    f(x)
  File "<cell 1>", line 9, in f
    return f(x)
  [Previous line repeated 975 more times]
ZeroDivisionError: division by zero
`,
			`Traceback (most recent call last):
  … 1 frame in json
  File "index.pyx", line 167, in pandas._libs.index.get_loc
StopIteration: 0

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "work.py", line 2, in <module>
    df.apply(f)
  … 1 frame in pandas
  File "<cell 1>", line 9, in f
    return f(x)
  [Previous line repeated 975 more times]
ZeroDivisionError: division by zero
`,
		},
		"a group": {
			`  + Exception Group Traceback (most recent call last):
  |   File "<cell 1>", line 3, in <module>
  |     asyncio.run(f())
  |   File "` + lib + `asyncio/runners.py", line 1, in run
  |     return runner.run(main)
  |   File "` + lib + `asyncio/taskgroups.py", line 2, in __aexit__
  |     raise BaseExceptionGroup
  | ExceptionGroup: 2 (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError
    +------------------------------------
`,
			`  + Exception Group Traceback (most recent call last):
  |   File "<cell 1>", line 3, in <module>
  |     asyncio.run(f())
  |   … 1 frame in asyncio
  |   File "asyncio/taskgroups.py", line 2, in __aexit__
  |     raise BaseExceptionGroup
  | ExceptionGroup: 2 (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError
    +------------------------------------
`,
		},
		"a path that ends in nothing": {"  File \"/a/site-packages//\", line 1, in f\nE\n", "  File \"/\", line 1, in f\nE\n"},
		"of Windows": {
			"  File \"C:\\Python312\\Lib\\json\\x.py\", line 1, in f\n  File \"<frozen importlib._bootstrap>\", line 2, in g\n  File \"C:\\e\\Lib\\site-packages\\p.py\", line 1, in h\nE\n",
			"  … 2 frames in json, importlib\n  File \"p.py\", line 1, in h\nE\n",
		},
	} {
		diff := cmp.Diff(test.want, folded(test.trace))
		expect(t, diff == "", "%s (-want +got):\n%s", name, diff)
	}
}
