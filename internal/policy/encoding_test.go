package policy

import "testing"

// TestEncodingOfAFile: no file that Python would read in another way is judged.
func TestEncodingOfAFile(t *testing.T) {
	for text, fits := range map[string]bool{
		"":                                       true,
		"x = 'é'":                                true,
		"\ufeff# coding: utf-8\nx = 1":           true,
		"#!/bin/python\n# -*- coding: UTF_8 -*-": true,
		"# vim: set fileencoding=ascii :":        true,
		"# coding: utf-8-unix":                   true,
		"x = 1\ny = 2\n# coding: utf-7":          true, // only the first two lines count
		"x = 'coding: utf-7'":                    true,
		"# coding: utf-7\n# +AAo-import os":      false,
		"\n\f # coding=raw_unicode_escape":       false,
		"#\r# coding: utf-7":                     false,
		"\ufeff# coding: utf-7":                  false,
		"# decoding: latin-1":                    false,
		"# coding: utf-80":                       false,
		"x = '\xe9'":                             false,
	} {
		problem := encodingProblem(text)
		expect(t, (problem == "") == fits, "%q: %q", text, problem)
	}
}
