package answer

import "testing"

func TestShortWarnings(t *testing.T) {
	for text, want := range map[string]string{
		"/opt/lib/python3.11/site-packages/sklearn/svm/_base.py:236: FutureWarning: old\n  warnings.warn(\nnext\n": "sklearn/svm/_base.py:236: FutureWarning: old\nnext\n",
		"<cell 3>:2: UserWarning: mine\n  warnings.warn(\"mine\")\n":                                               "<cell 3>:2: UserWarning: mine\n  warnings.warn(\"mine\")\n",
		"found /usr/lib/site-packages/numpy\n  warnings.warn(\n":                                                   "found /usr/lib/site-packages/numpy\n  warnings.warn(\n",
	} {
		got := shortWarnings(text)
		expect(t, got == want, "%q became %q, not %q", text, got, want)
	}
}
