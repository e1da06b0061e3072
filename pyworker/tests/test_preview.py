"""What is told of files of data, hostile ones and large ones too."""

import datetime
import gzip
import io
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import unittest
import unittest.mock
import zipfile

from pyworker.tests.preview_cases import FILES, PEOPLE
from pyworker.workspace import preview, tree

try:
    import openpyxl
    import PIL.Image
    import pyarrow
    import pyarrow.parquet
except ImportError:
    openpyxl = PIL = pyarrow = None


def text_of(directory, **options):
    return preview.describe(str(directory), seconds=60, **options)["text"]


def picture(width, height):
    out = io.BytesIO()
    PIL.Image.new("L", (width, height)).save(out, "png")
    return out.getvalue()


def trees():
    """Returns a Parquet file with four groups of rows."""
    day = datetime.date(2024, 1, 1)
    at = datetime.datetime(2024, 1, 1)
    n = range(1000)
    table = {
        "id": [i + 1 for i in n],
        "price": [None if i % 4 == 0 else i / 8 for i in n],
        "name": [("ash", "elm", "oak")[i % 3] for i in n],
        "day": [day + datetime.timedelta(i % 366) for i in n],
        "at": [at + datetime.timedelta(hours=i) for i in n],
        "ok": [i % 2 == 0 for i in n],
        "tags": [["a"] * (i % 3) for i in n],
        "place": [{"x": i} for i in n],
        "raw": [b"\xff" for i in n],
    }
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(table), out, row_group_size=250)
    return out.getvalue()


class FilesTestCase(unittest.TestCase):
    def put(self, files):
        """Writes files and returns their directory."""
        directory = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, directory)
        for name, data in files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)
        return directory

    def check(self, text, *wanted):
        for words in wanted:
            self.assertIn(words, text)


class PreviewTest(FilesTestCase):
    def test_files(self):
        for name, (file, data, *wanted) in FILES.items():
            if pyarrow is None and file.endswith((".parquet", ".xlsx", ".png")):
                continue
            with self.subTest(name):
                self.check(text_of(self.put({file: data}), characters=100_000), *wanted)

    @unittest.skipUnless(pyarrow, "needs pyarrow")
    def test_parquet(self):
        files = {"a.parquet": trees(), "b/same.parquet": trees(), "b/too.pq": trees()}
        none = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table({"price": pyarrow.array([], "float64")}), none)
        files["none.parquet"] = none.getvalue()
        text = text_of(self.put(files), characters=100_000)
        self.check(
            text,
            "### a.parquet\nParquet: 1,000 rows × 9 columns\n"
            "- id: int64, 1 to 1000\n"
            "- price: double, 0.125 to 124.875, 250 missing (25%)\n"
            '- name: string, "ash" to "oak"\n- day: date32[day], 2024-01-01 to 2024-12-31\n'
            "- at: timestamp[us], 2024-01-01 to 2024-02-11 15:00:00\n- ok: bool\n",
            "- tags: list<element: string>\n- place: struct<x: int64>\n- raw: binary\n",
            "### none.parquet\nParquet: 0 rows × 1 column\n- price: double\n",
            "### b/too.pq\nParquet: 1,000 rows × 9 columns\nThe same columns as same.parquet.",
        )
        with unittest.mock.patch.dict(sys.modules, {"pyarrow": None, "pyarrow.parquet": None}):
            self.check(
                text_of(self.put(files)),
                "not looked into: this Python has no pyarrow, which `understudy setup` brings)",
            )

    @unittest.skipUnless(openpyxl, "needs openpyxl")
    def test_workbook(self):
        book = openpyxl.Workbook()
        for row in (
            ["when", "n", "ok"],
            [datetime.datetime(2023, 3, 15), 1.5, True],
            [datetime.datetime(2023, 3, 16), 2, False],
        ):
            book.active.append(row)
        book.create_sheet("Empty")
        long = book.create_sheet("Long")
        for i in ["x", *range(5000)]:
            long.append([i])
        directory = self.put({})
        book.save(directory / "a.xlsx")
        for name in ("Empty", "Long"):
            del book[name]
        book.save(directory / "b.xlsx")
        self.check(
            text_of(directory),
            "Excel, 3 sheets",
            'Sheet "Sheet": 2 rows × 3 columns\n- when: date, 2023-03-15 to 2023-03-16',
            "- n: number, 1.5 to 2",
            '- ok: text, all distinct, such as "True", "False"',
            'Sheet "Empty": empty',
            'Sheet "Long": the first 2,000 rows × 1 column',
            '### b.xlsx\nExcel, 1 sheet\nSheet "Sheet": 2 rows × 3 columns',
        )

    @unittest.skipUnless(openpyxl, "needs openpyxl")
    def test_workbook_without_header(self):
        book = openpyxl.Workbook()
        for row in ((1.5, "a"), (2.5, "b")):
            book.active.append(row)
        directory = self.put({})
        book.save(directory / "a.xlsx")
        self.check(text_of(directory), "2 rows × 2 columns", "- column 1: number, 1.5 to 2.5")

    def test_workbook_that_is_a_bomb(self):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as parts:
            parts.writestr("xl/workbook.xml", b" " * (200 << 20))
        if openpyxl:
            self.check(text_of(self.put({"a.xlsx": out.getvalue()})), "too large for a workbook")

    def test_tree(self):
        """Of many files some are named, of every kind one, and the rest is counted."""
        files = {f"pictures/{i}.png": "x" for i in range(133)}
        files["pictures/zz.csv"] = "a,b\n1,2\n"
        files |= {f"nine/part-{i + 1}.bin": "x" for i in range(9)}
        files |= {f"many/d{i}/f.bin": "xy" for i in range(40)}
        text = text_of(self.put(files), name="data")
        self.check(
            text,
            "data/ (183 files, ",
            "  pictures/ (134 files, ",
            "    zz.csv (8 B)",
            "… and 130 other files: 130 .png (",
            "    part-8.bin (1 B)\n    … and 1 other file: 1 .bin (1 B)\n",
            "    … and 36 other directories (36 files, 72 B)",
            "### pictures/*\nPictures: 133 .png"
            + ("; of 23 that were looked at; 23 can't be read\n" if PIL else "\n"),
            "### pictures/zz.csv",
        )

    @unittest.skipUnless(PIL, "needs Pillow")
    def test_pictures(self):
        files = {f"{i}.png": picture(3, 2 + i % 5) for i in range(9)}
        directory = self.put({**files, "x.jpg": "broken"})
        self.check(
            text_of(directory),
            "### *\nPictures: 9 .png, 1 .jpg: 3×2 (2), 3×3 (2), 3×4 (2), 3×5 (2), "
            "… 1 other size; 1 can't be read",
        )
        self.check(text_of(self.put({"a.png": picture(7, 5)})), "Pictures: 1 .png: 7×5 (1)\n")

    def test_simple_form(self):
        """What is too long in full is told by names, and cut at a section's end."""
        files = {}
        for i in range(8):
            names = ",".join(f"the_column_{i}_{k}" for k in range(45))
            files[f"{i}.csv"] = names + "\n" + ",".join(f"value {k}" for k in range(45)) + "\n"
        directory = self.put(files)
        full = text_of(directory, characters=100_000)
        self.check(full, '- the_column_7_44: text, a single value: "value 44"')
        for most, left in ((6000, "1 more file"), (2000, "6 more files")):
            text = text_of(directory, characters=most)
            self.check(text, "Columns: the_column_0_0, the_column_0_1, ")
            self.assertTrue(text.endswith(f"[the descriptions of {left} are left out]\n"), text)
            self.assertNotIn("value 44", text)
            self.assertTrue(most * 0.7 < len(text) <= most, len(text))
        tiny = text_of(directory, characters=100)
        self.assertTrue(len(tiny) <= 100 and "left out]" in tiny, tiny)

    def test_same_again(self):
        """A text that is known is not made again; another file makes another print."""
        directory = self.put({"a.csv": "a,b\n1,x\n", "b/c.json": '{"x":[1,2]}', "d.txt": "hello"})
        first, second = (preview.describe(str(directory)) for _ in range(2))
        self.assertEqual(first, second)
        again = preview.describe(str(directory), known=first["print"])
        self.assertEqual({"print": first["print"]}, again)
        (directory / "b" / "e").write_text("x")
        self.assertIn("text", preview.describe(str(directory), known=first["print"]))

    def test_budget_is_for_all(self):
        files = {f"{i}.csv": "n,m\n" + "12345,67890\n" * 20_000 for i in range(6)}
        with unittest.mock.patch.multiple(preview, _ALL=600_000, _FILE=300_000):
            text = text_of(self.put(files))
        self.check(text, "CSV: 20,000 rows × 2 columns", "columns; described from the first ")
        self.check(text, "not looked into: enough was read of the others)")

    def test_no_time(self):
        found = preview.describe(str(self.put({"a.csv": "a,b\n1,2\n"})), seconds=-1)
        self.check(found["text"], "not all was looked at")
        self.assertTrue(found["hasted"])

    def test_no_directory(self):
        directory = self.put({"a.csv": ""})
        self.check(preview.describe(str(directory / "none"))["error"], "input: gone while")
        self.check(preview.describe(str(directory / "a.csv"))["error"], "no directory any more")

    def test_libraries_are_not_needed(self):
        """Without them JSON is told, tables are shown as texts, and what they read is named."""
        names = ("numpy.lib.format", "pandas", "pyarrow", "openpyxl", "PIL.Image")
        missing = dict.fromkeys(names)
        files = {
            "a.csv": PEOPLE,
            "b.json": "[1]",
            "c.npy": FILES["npy"][1],
            "d.xlsx": "x",
            "e.png": "x",
        }
        with unittest.mock.patch.dict(sys.modules, missing):
            text = text_of(self.put(files))
        self.check(text, "Text, 4 lines:\n```\nname,age", "JSON: array", "no numpy", "no openpyxl")


@unittest.skipUnless(hasattr(os, "fork"), "links, pipes and processes are of POSIX")
class HostileTest(FilesTestCase):
    def test_links(self):
        """Links are followed within the directory and to the roots, and nowhere else."""
        secret = self.put({"secret.csv": "word,n\nswordfish,1\n"})
        given = self.put(
            {
                "deep/x.csv": "a,b\n1,2\n",
                "other.csv": "word,n\nsibling,1\n",
                "one.csv": "only,b\n1,2\n",
            }
        )
        directory = self.put(
            {"own.csv": "own,b\n1,2\n", "sub/f.csv": "s,b\n1,2\n", "o/f.csv": "o,b\n1,2\n"}
        )
        links = {
            "away.csv": secret / "secret.csv", "awaydir": secret, "device.csv": "/dev/zero",
            "nothing.csv": "nowhere", "self.csv": "self.csv", "given": given / "deep",
            "one.csv": given / "one.csv", "sibling.csv": given / "other.csv",
            "again.csv": "own.csv",
            "absolute.csv": directory / "own.csv", "loop": ".", "sub/twin": "../o", "sub/up": "..",
            "climb.csv": f"../{secret.name}/secret.csv",
        }  # fmt: skip
        for name, target in links.items():
            os.symlink(target, directory / name)
        os.symlink(given / "deep", given / "deep" / "round")
        roots = [str(given / "deep"), str(given / "one.csv")]
        text = text_of(directory, characters=100_000, roots=roots)
        self.check(
            text,
            "### given/x.csv\nCSV: 1 row × 2 columns",
            "### one.csv\nCSV: 1 row",
            "- only: integer",
            "nothing.csv (0 B: link to nothing)",
            "loop/ (link to a directory above it)",
            "up/ (link to a directory above it)",
            "twin (0 B: link to a directory of this tree)",
            "round/ (link to a directory above it)",
        )
        for never in ("swordfish", 'sibling"', str(given), str(directory), str(secret)):
            self.assertNotIn(never, text)

    def test_pipe(self):
        directory = self.put({"b.csv": "a,b\n1,2\n"})
        os.mkfifo(directory / "a.csv")
        self.check(text_of(directory), "a.csv (0 B: not a regular file)", "### b.csv")
        with self.assertRaises(preview.NotSaid):  # which has become one
            preview._opened(directory / "a.csv")

    @unittest.skipIf(hasattr(os, "getuid") and os.getuid() == 0, "root reads everything")
    def test_unreadable(self):
        directory = self.put({"a.csv": "a,b\n1,2\n", "d/b.csv": "a,b\n1,2\n"})
        os.chmod(directory / "a.csv", 0)
        os.chmod(directory / "d", 0)
        self.addCleanup(os.chmod, directory / "d", 0o700)
        text = text_of(directory)
        self.check(text, "a.csv (8 B: can't be read: permission denied)")
        self.check(text, "d/ (can't be read: permission denied)")

    def test_apart(self):
        """What reading a file does to its process is told in its line."""
        hog = lambda: {"n": len(bytearray(3 << 30))}  # noqa: E731
        cases = [
            (lambda: {"x": 1}, 60, {"x": 1}),
            (lambda: os.kill(os.getpid(), 11), 60, "reading it ended the process"),
            (lambda: os._exit(3), 60, "can't be described: reading it ended the process"),
            (lambda: time.sleep(600), 0.01, "there was no time left"),
            (lambda: "x" * (2 << 20), 60, "can't be described"),
            (lambda: 1 // 0, 60, "can't be described: integer division or modulo by zero"),
        ]
        if sys.platform == "linux":
            cases.append((hog, 60, "it takes too much memory"))
        for job, seconds, want in cases:
            with self.subTest(want):
                found = preview.apart(job, seconds)
                if isinstance(want, str):
                    self.check(found["note"], want)
                else:
                    self.assertEqual(want, found)
        with unittest.mock.patch("os.fork", side_effect=BlockingIOError(11, "no more")):
            self.assertEqual("can't be described: no more", preview.apart(dict, 1)["note"])
        with self.assertRaises(ChildProcessError):
            os.waitpid(-1, 0)


class LargeTest(FilesTestCase):
    """What is larger than what is read of a file is told from its beginning, and says so."""

    def check_large(self, name, row, *wanted):
        """Describes a file of 5 GB, of rows of equal length, that is never anywhere."""
        width = len(row(1).encode())
        data = b"".join(row(i).encode() for i in range((8 << 20) // width + 1))
        room, kind = 8 << 20, tree.extension(name)
        found = preview._READERS[kind](io.BytesIO(data[:room]), name, 5_000_000_000, room)
        self.check("\n".join([found["head"], *found["full"]]), *wanted)

    def test_table(self):
        """Texts hold line ends, delimiters and quotes, and the cut may be in one."""

        def row(i):
            if i == 0:
                return "id,word,note," + "v" * (100 - 14) + "\n"
            value = "" if i % 10 == 0 else "1.5"
            start = f'{i:010},{("ash", "elm", "oak")[i % 3]},"a, ""b""\nc,d,e\n'
            end = f'",{value}\n'
            return start + "z" * (100 - len(start) - len(end) - 3) + ",y\n" + end

        self.check_large(
            "made.csv",
            row,
            "CSV: about 50,000,000 rows × 4 columns; described from the first 41,942 rows",
            'text, 3 distinct: "elm", "oak", "ash"',
            "number, 1.5, 10% missing",
            "- id: integer, 1 to 41942",
            "some with leading zeros",
        )

    def test_lines(self):
        row = lambda i: f'{{"id": {1_000_000_000 + i:010}, "t": "{i:022}"}}\n'  # noqa: E731
        self.check_large("a.jsonl", row, "JSON lines: about 100,000,000 lines, of which ")

    def test_document(self):
        row = lambda i: ("[" if i == 0 else " ") + '{"a": [12,345]},' * 3 + " \n"  # noqa: E731
        words = "JSON, of which the first 4.2 MB were read; it begins:\n```\n[{"
        self.check_large("a.json", row, words)

    def test_long_line(self):
        for name in ("a.jsonl", "a.csv"):
            with (
                self.subTest(name),
                self.assertRaisesRegex(preview.NotSaid, "lines are long|one record"),
            ):
                self.check_large(name, lambda i: '"' * (i == 0) + "x," * 20)

    @unittest.skipUnless(pyarrow, "the time of pandas")
    def test_sparse(self):
        directory = self.put({"large.csv": "a,b\n" + "1,2\n" * (1 << 18), "zeros.csv": ""})
        for name in ("large.csv", "zeros.csv"):
            os.truncate(directory / name, 5 << 30)
        self.check(text_of(directory), "large.csv (5.4 GB)", "zeros.csv (5.4 GB: not a text)")

    def test_packed(self):
        """Of a compressed table the beginning is read, and the rest estimated."""
        chance = random.Random(1)
        rows = (f"{1_000_000 + i},{chance.randrange(10**8, 2 * 10**8)}\n" for i in range(600_000))
        data = gzip.compress(("id,value\n" + "".join(rows)).encode())
        text = text_of(self.put({"a.csv.gz": data}))
        rows = int(text.partition("CSV: about ")[2].partition(" ")[0].replace(",", ""))
        self.assertTrue(580_000 <= rows <= 620_000, text)
