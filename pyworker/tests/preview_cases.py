"""Files of data by what is special about them: name, content, what must be told of them."""
# ruff: noqa: E501

import gzip
import json
import struct

PEOPLE = "name,age,city\nAnn,31,Rome\nBob,,Bonn\nCid,47,Rome\n"


def array(header):
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def _nested(levels):
    return 1 if levels < 0 else {f"k{i}": _nested(levels - 1) for i in range(12)}


FILES = {
    "plain": ("a.csv", PEOPLE, "CSV: 3 rows × 3 columns\n", "- age: integer, 31 to 47, 2 distinct, 1 missing (33%)", '- city: text, 2 distinct: "Rome", "Bonn"', '- name: text, all distinct, such as "Ann", "Bob", "Cid"'),
    "CR LF": ("a.csv", PEOPLE.replace("\n", "\r\n"), "3 rows × 3 columns", "31 to 47"),
    "tabs": ("a.csv", PEOPLE.replace(",", "\t"), "Tab-separated: 3 rows × 3 columns"),
    "semicolons": ("a.csv", "x;y\n1,5;a\n2,25;b\n", 'CSV with delimiter ";": 2 rows × 2 columns', '- x: text, all distinct, such as "1,5"'),
    "bars": ("a.psv", PEOPLE.replace(",", "|"), 'delimiter "|": 3 rows × 3 columns'),
    "one column": ("a.csv", "x\n1\n2\n", "2 rows × 1 column\n", "- x: integer, 1 to 2"),
    "no header": ("a.csv", "5.1,3.5,setosa\n4.9,3.0,setosa\n", "2 rows × 3 columns; no header", "- column 1: number, 4.9 to 5.1"),
    "a picture": ("a.csv", "![x](http://e/?a),y\n1,2\n", "- ` ![x](http://e/?a) `: integer, 1"),
    "years are a header": ("a.csv", "country,1960,1961,1962\nA,1,2,3\n", "1 row × 4 columns\n", "- 1961: integer, 2"),
    "only a header": ("a.csv", "a,b,c\n", "0 rows × 3 columns", "- a: empty"),
    "quoted lines": ("a.csv", 'a,b\n"x\ny, ""z""",1\n', "1 row × 2 columns", r'- a: text, a single value: "x y, \"z\""'),
    "open quote": ("a.csv", 'a,b\n1,2\n3,"4\n5,6\n', "1 row × 2 columns; what comes after these is left out: a quote is not closed\n", "- a: integer, 1"),
    "open quote in the first record": ("a.csv", 'a,b\n3,"4\n5,6\n', "not looked into: one record is all of it, or a quote is open"),
    "ragged": ("a.csv", "a,b,c\n1,2,3\n4,5\n6,7,8\n1,2,3,4\n", "3 rows × 3 columns; 1 row with too many fields left out", "- c: integer, 3 to 8, 2 distinct, 1 missing (33%)"),
    "lines before": ("a.csv", "Report of 2024\n\na,b,c\n1,2,3\n4,5,6\n7,8,9\n", "3 rows × 3 columns; what comes before line 3 is not of the table", "- a: integer, 1 to 7"),
    "names of rows": ("a.tsv", "a\tb\nr1\t1\t2\nr2\t3\t4\n", "2 rows × 2 columns", "- b: integer, 2 to 4"),
    "UTF-8 with mark": ("a.csv", "\ufeff" + PEOPLE, "CSV, encoding utf-8-sig: 3 rows", "- name: text"),
    "UTF-16 little": ("a.csv", ("\ufeff" + PEOPLE).encode("utf-16-le"), "encoding utf-16: 3 rows × 3 columns", "- name: text"),
    "UTF-16 without mark": ("a.csv", PEOPLE.encode("utf-16-le"), "encoding utf-16-le: 3 rows × 3 columns", "- name: text"),
    "cp1252": ("a.csv", b"n,p\ncaf\xe9,\x80 5\n", "encoding cp1252: 1 row", '"café"', '"€ 5"'),
    "broken UTF-8": ("a.csv", b"n,p\ncaf\xc3\xa9,\xc3\xbc\nx\xff,\xc3\xa4\n", "encoding utf-8 with 1 broken byte: 2 rows", '"x\ufffd"'),
    "NULs": ("a.csv", "a,b\n1,\0\0\0\n", "a.csv (10 B: not a text)"),
    "empty": ("a.csv", "", "a.csv (0 B: empty)"),
    "blank": ("a.csv", "\n\n\n", "a.csv (3 B: only empty lines)"),
    "gzip": ("a.csv.gz", gzip.compress(PEOPLE.encode()), "CSV: 3 rows × 3 columns"),
    "not gzip": ("a.csv.gz", PEOPLE, "can't be unpacked"),
    "cut gzip": ("a.csv.gz", gzip.compress(PEOPLE.encode() * 2000)[:100], "a.csv.gz (100 B"),
    "dates": ("a.csv", "d,e\n2024-01-05,3.4.2021\n2023-12-31,24.12.2020\n", "- d: date, 2023-12-31 to 2024-01-05", '- e: text, all distinct, such as "3.4.2021"'),
    "times": ("a.csv", "d,e\n2024-01-05T10:20:30Z,1\n2023-12-31T00:00:00Z,1\n", "- d: date, 2023-12-31 to 2024-01-05 10:20:30"),
    "numbers and a word": ("a.csv", "n,m\n" + "1.5,2\n" * 39 + "unknown,2\n", '- n: number, 1.5, but 1 cell of text, such as "unknown"'),
    "leading zeros": ("a.csv", "zip,x\n00501,1\n10001,2\n", "- zip: integer, 501 to 10001, all distinct, some with leading zeros"),
    "no numbers": ("a.csv", "a,b\n" + "9" * 400 + ",1e999\n1_000,-\n", '- a: text, all distinct, such as "999', '- b: text, all distinct, such as "1e999", "-"'),
    "booleans": ("a.csv", "b,x\nTrue,1\nFalse,2\nTrue,3\n", '- b: text, 2 distinct: "True", "False"'),
    "all missing": ("a.csv", "b,x\nNA,1\nnull,2\n", "- b: empty"),
    "control characters": ("a.csv", "b,x\n\x1b[31mred\x07\u202e,1\n", '"[31mred"'),
    "long cells": ("a.csv", "b,x\n" + "é" * 500 + ",1\n", '"' + "é" * 60 + '…"'),
    "100,000 columns": ("a.csv", ",".join(f"f{i}" for i in range(100_000)) + "\n" + "1," * 99_999 + "2\n", "1 row × 100,000 columns", "- f99999: integer, 2", "… 99,950 columns between them"),
    "table in a text": ("a.data", "5.1,3.5,1.4\n" * 20, "CSV: 20 rows × 3 columns; no header"),
    "short text": ("a.md", "# Data\n```\nx\n```\n", "Text, 4 lines:\n````\n# Data\n```\nx\n```\n````"),
    "long text": ("a.txt", "a line\n" * 50, "Text, 50 lines; it begins:\n```\na line\n"),
    "code": ("a.py", "def f():\n\treturn 1\n", "def f():\n    return 1"),
    "JSON": ("a.json", '[{"id":1,"t":["x"],"o":{"p":null}},{"id":2.5,"t":[],"n":NaN}]', "JSON: array of 2 elements, each object", "- id: number, 1 to 2.5", '- t: array of 0 to 1 element, each text, such as "x"', "  - p: null", "- n: null (in 50% of them)"),
    "JSON object": ("a.json", '{"b":true,"s":"NaN"}', "JSON: object", "- b: boolean", '- s: text, such as "NaN"'),
    "JSON that is lines": ("a.json", '{"a":1}\n{"a":2}\n', "JSON lines: 2 lines, each object", "- a: integer, 1 to 2"),
    "broken JSON": ("a.json", '{"a":', "a.json (5 B: not valid JSON at byte 5)"),
    "deep JSON": ("a.json", "[" * 100_000 + "]" * 100_000, "not looked into: it is too deeply nested"),
    "long number in JSON": ("a.json", "[1" + "0" * 5000 + ", 1" + "0" * 400 + "]", "JSON: array of 2 elements, each number"),
    "JSON lines": ("a.jsonl", '{"a":1}\n\n{"a":"x"}\n{broken\n', "JSON lines: 3 lines, each object", "33% of the lines are not valid JSON", '- a: integer, 1 or text, such as "x"'),
    "many keys at each level": ("a.json", json.dumps(_nested(4)), "JSON: object"),
    "many keys": ("a.json", json.dumps({f"k{i}": 1 for i in range(1001)}), "… 971 more keys", "- k29: integer, 1"),
    "npy": ("a.npy", array("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n"), "numpy array: 3 × 4, float32"),
    "npy that lies": ("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "a.npy (13 B: not a file of numpy's)"),
    "cut Parquet": ("a.parquet", "PAR1" + "x" * 100, "not a Parquet file, or a damaged one"),
    "Parquet that lies": ("a.parquet", b"PAR1\x15\x02\xff\xff\xff\xffPAR1", "not a Parquet file, or a damaged one"),
    "no workbook": ("a.xlsx", "PK nothing", "can't be read as a workbook"),
    "no picture": ("a.png", "nothing", "Pictures: 1 .png; 1 can't be read"),
    "name of a file": ("a\x1b[1m\n```.csv", PEOPLE, "a[1m ```.csv", "### ```` a[1m ```.csv ````\nCSV: 3 rows"),
}  # fmt: skip
