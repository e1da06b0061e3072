"""Names of artifacts, and what is read of pages."""

import unittest

from pyworker.display import forms, names, pages


class NamesTest(unittest.TestCase):
    def test_clean(self):
        cases = {
            "sales": "sales",
            "a/b\\c.csv": "c.csv",
            "../../etc/passwd": "passwd",
            "..": "",
            "": "",
            ".hidden": "hidden",
            "a:b*c?": "a_b_c_",
            "line\nbreak\0": "line_break_",
            "con.txt": "_con.txt",
            "Länge 1.2 (neu).png": "Länge 1.2 (neu).png",
            "trailing. ": "trailing",
        }
        for name, expected in cases.items():
            with self.subTest(name):
                self.assertEqual(expected, names.clean(name))
        long = names.clean("ä" * 300 + ".csv")
        self.assertLessEqual(len(long.encode()), 150)
        self.assertTrue(long.endswith("ä.csv"))

    def test_endings(self):
        cases = [("a", "a.png"), ("a.PNG", "a.PNG"), ("a.jpg", "a.png"), ("v1.2", "v1.2.png")]
        for name, expected in cases:
            with self.subTest(name):
                self.assertEqual(expected, names.with_ending(name, (".png",)))


class PagesTest(unittest.TestCase):
    def test_sniff(self):
        self.assertEqual(".txt", pages.sniff("aä".encode()[:2]))
        self.assertEqual(".bin", pages.sniff(b"\xff\xfe\x00"))
        self.assertEqual(".webp", pages.sniff(b"RIFF1234WEBPVP8"))

    def test_describe(self):
        figure = {
            "data": [
                {"type": "bar", "y": {"dtype": "f8", "bdata": "AAAAAAAA8D8AAAAAAAAAQA=="}},
                {"x": [1], "name": "n"},
            ],
            "layout": {"title": {"text": "T"}},
        }
        said = forms.describe(figure, figure["data"])
        self.assertEqual('T\nbar (2 points); scatter "n" (1 point)', said)
