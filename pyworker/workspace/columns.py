"""What the columns of a table hold, told from their cells as they are written."""

import collections
import datetime
import re

from .words import count, listed, named, quoted, section, share, spread

_FIRST, _LAST = 500, 100  # columns that are looked into
_SHOWN_FIRST, _SHOWN_LAST = 40, 10  # that are told of
_FEW = 0.05  # of the cells may be text in a column of numbers
_TRIES = 50  # cells without a date, after which no more are looked for
_MANY = 50_000  # distinct values that are counted

# As pandas has it.
MISSING = frozenset((
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
))  # fmt: skip
_BOOLEANS = frozenset(["true", "false", "True", "False", "TRUE", "FALSE"])
_NUMBER = re.compile(r"[-+]?(\d+)?(\.\d*)?([eE][-+]?\d+)?", re.ASCII)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", re.ASCII)
_COMMA = re.compile(r"[-+]?(\d+,\d*|,\d+)", re.ASCII)
# Those that fromisoformat does not read. Which of day and month comes first where there
# are strokes is not claimed.
_DATES = [
    day + time
    for day in ("%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y")
    for time in ("", " %H:%M", " %H:%M:%S")
] + ["%Y-%m", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d, %Y", "%b %d %Y"]


def kind_of(text):
    """Returns (kind, value) of a cell; dates are still text."""
    text = text[:400].strip()
    if text in _BOOLEANS:
        return "boolean", None
    match = _NUMBER.fullmatch(text)
    if not match or not any(c.isdigit() for c in text) or len(text) > 300:
        return "text", None
    try:
        value = float(text)
    except ValueError:
        return "text", None
    if abs(value) == float("inf"):
        return "text", None
    return ("number" if match[2] or match[3] else "integer"), value


class _Dates:
    """Reads dates, in the layout that was met last."""

    def __init__(self):
        self._layout = ""
        self._tries = 0
        self.found = []
        self.timed = False

    def take(self, text):
        """Reports whether a cell is a date."""
        if not 6 <= len(text) <= 40 or (not self.found and self._tries >= _TRIES):
            return False
        when = self._read(text.strip())
        if when is None:
            self._tries += 1
            return False
        self.found.append(when)
        self.timed = self.timed or ":" in text
        return True

    def _read(self, text):
        try:
            return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=None)
        except ValueError:
            pass
        if self._tries > 20 * _TRIES and self._tries > len(self.found):
            return None
        for layout in (self._layout, *_DATES) if self._layout else _DATES:
            try:
                when = datetime.datetime.strptime(text, layout)
            except ValueError:
                continue
            self._layout = layout
            return when
        return None

    def range(self, example):
        """Writes the range of the dates."""
        layout = "%Y-%m-%d %H:%M" if self.timed else "%Y-%m-%d"
        words = spread(min(self.found), max(self.found), lambda when: when.strftime(layout))
        return words + (
            f" (such as {quoted(example)})" if "/" in self._layout or "." in self._layout else ""
        )


class Column:
    """A column, from its cells."""

    def __init__(self, title, cells):
        self.title = title
        counts = collections.Counter(cells)
        self._missing = sum(counts.pop(word, 0) for word in MISSING.intersection(counts))
        self._filled = counts.total() if hasattr(counts, "total") else sum(counts.values())
        self._values = list(counts)
        self._kinds = collections.Counter()
        self._numbers = []
        self._dates = _Dates()
        self._texts = []
        if not self._all_numbers():
            self._each(counts)
        self.kind = self._kind()

    def _all_numbers(self):
        """Takes them as numbers at once, if all of them are."""
        letters = set().union(*self._values)
        if not letters or not letters <= set("0123456789.+-") or max(map(len, self._values)) > 300:
            return False
        try:
            self._numbers = list(map(float, self._values))
        except ValueError:
            return False
        self._kinds["number" if "." in letters else "integer"] = self._filled
        return True

    def _each(self, counts):
        for text in self._values:
            kind, value = kind_of(text)
            if value is not None:
                self._numbers.append(value)
            elif kind == "text":
                kind = "date" if self._dates.take(text) else "text"
                if kind == "text":
                    self._texts.append(text)
            self._kinds[kind] += counts[text]

    def _kind(self):
        kinds, filled = self._kinds, self._filled
        numbers = kinds["integer"] + kinds["number"]
        few = filled * _FEW
        if not filled:
            return "empty"
        if numbers and filled - numbers <= few:
            return "number" if kinds["number"] else "integer"
        if kinds["boolean"] == filled:
            return "boolean"
        return "date" if kinds["date"] and filled - kinds["date"] <= few else "text"

    def describe(self, exact):
        """Says what it holds. Exact is for tables of which all rows were looked at."""
        if self.kind == "empty":
            return "empty"
        kind, odd = self.kind, ""
        if self._numbers and kind in ("integer", "number"):
            kind += ", " + spread(min(self._numbers), max(self._numbers))
            if any(len(v) > 1 and v[0] == "0" and v[1].isdigit() for v in self._values):
                kind += ", some with leading zeros"
            others = self._filled - self._kinds["integer"] - self._kinds["number"]
            if others and self._texts:
                odd = self._odd(others, "text, ")
        elif kind == "date":
            kind += ", " + self._dates.range(self._values[0])
            if self._texts:
                others = self._filled - self._kinds["date"]
                odd = self._odd(others, "not, ")
        elif kind == "text":
            kind = self._commas()
        facts = [kind, odd, self._distinct(exact)]
        if self._missing:
            part = share(self._missing, self._missing + self._filled)
            facts.append(f"{self._missing} missing ({part})" if exact else f"{part} missing")
        return ", ".join(filter(None, facts))

    def _odd(self, others, words):
        part = share(others, self._filled)
        return f"but {part} of the cells are {words}such as {quoted(self._texts[0])}"

    def _commas(self):
        """Says which numbers texts are that have commas."""
        if not self._texts or self._kinds["boolean"] or self._kinds["date"]:
            return "text"
        thousands = all(_THOUSANDS.fullmatch(text.strip()) for text in self._texts)
        decimal = all(_COMMA.fullmatch(text.strip()) for text in self._texts)
        if thousands and decimal:
            return "number with commas, between thousands or decimal"
        if thousands:
            return "number with commas between thousands"
        return "number with a decimal comma" if decimal else "text"

    def _distinct(self, exact):
        """Says how many distinct values there are, and some of them."""
        n, text = len(self._values), self.kind == "text"
        words = "a single value" if n == 1 else f"{n} distinct"
        if n > _MANY and not (exact and n == self._filled):
            return f"many distinct, such as {listed(self._values, 3)}" if text else ""
        if self.kind == "boolean" or (text and n <= 6 and not self._all_distinct(exact)):
            return f"{words}: {listed(self._values, 6)}"
        if n == 1:  # the range has it
            return ""
        if self._all_distinct(exact) and self.kind != "number":
            words = "all distinct"
        elif not text and (n > 20 or self.kind == "date"):
            return ""
        return f"{words}, such as {listed(self._values, 3)}" if text else words

    def _all_distinct(self, exact):
        return exact and not self._missing and len(self._values) == self._filled > 1


class Table:
    """Columns and rows. rows are lists of cells, width is how many they have."""

    def __init__(self, rows, width, header=None):
        self.rows = len(rows)
        self.width = width
        self.header = header is not None
        self.estimate = 0  # of the rows that there may be; 0 where these are all
        self.notes = []
        self.exact = True
        self.columns = []
        for i in (*range(min(width, _FIRST)), *range(max(_FIRST, width - _LAST), width)):
            title = named(header[i]) if self.header and i < len(header) else f"column {i + 1}"
            self.columns.append(Column(title, [row[i] if i < len(row) else "" for row in rows]))

    def section(self, kind):
        """Returns what is told of it."""
        rows = count(self.rows, "row")
        shape = f"{rows} × {count(self.width, 'column')}"
        if self.estimate:
            rows = f"about {count(self.estimate, 'row')}, from a sample of {rows}"
            shape = f"{rows}; {count(self.width, 'column')}"
        head = "; ".join([f"{kind}: {shape}"] + ["no header"] * (not self.header) + self.notes)
        form = [self.width, [[each.title, each.kind] for each in self.columns]]
        return section(
            head,
            self._listed(lambda each: f"- {each.title}: {each.describe(self.exact)}"),
            "Columns: " + ", ".join(self._listed(lambda each: each.title)),
            repr(form) if self.header else "",
        )

    def _listed(self, write):
        between = self.columns[_SHOWN_FIRST : len(self.columns) - _SHOWN_LAST]
        kinds = collections.Counter(each.kind for each in between)
        order = ("integer", "number", "boolean", "date", "text", "empty")
        words = [f"{kinds[kind]} {kind}" for kind in order if kinds[kind]]
        if self.width > len(self.columns):
            words.append(f"{self.width - len(self.columns)} not looked into")
        return first_and_last(self.columns, self.width, write, f" ({', '.join(words)})")


def first_and_last(columns, width, write, between=""):
    """Writes the first and the last columns, with a word on those between."""
    left = width - _SHOWN_FIRST - _SHOWN_LAST
    if left <= 5:
        return list(map(write, columns))
    return [
        *map(write, columns[:_SHOWN_FIRST]),
        f"… {count(left, 'column')} between them{between}",
        *map(write, columns[-_SHOWN_LAST:]),
    ]
