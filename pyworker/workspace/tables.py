"""Tables that are written as text: their encoding, their delimiter, their header."""

import csv
import io

from .columns import Table, kind_of
from .words import NotSaid, about, count, share, size

_NAMES = {
    ",": "CSV",
    "\t": "Tab-separated",
    ";": 'CSV with delimiter ";"',
    "|": 'CSV with delimiter "|"',
}
_SNIFFED, _SNIFFED_TEXT = 200, 1 << 20  # records, and characters
_HEADER = 1000  # cells that are looked at


def read_table(sample, name):
    """Describes a text with a delimiter."""
    sample.refuse_binary()
    layout = _Layout.of(sample, name)
    return _tabulate(sample, layout)


def read_text_or_table(sample, name):
    """Is for names that say little: a text whose lines have as many fields each is a table."""
    from .documents import read_text

    if sample.is_binary():
        raise NotSaid("")
    layout = _Layout.of(sample, name)
    if layout.fields < 3 or layout.fit < 0.95 or sample.blocks[0].count("\n") < 5:
        return read_text(sample, name)
    return _tabulate(sample, layout)


class _Layout:
    """How the records of a text are written."""

    def __init__(self, delimiter, counts=()):
        self.delimiter = delimiter
        self.fields, self.before, self.fit = 1, 0, 0.0  # before: lines that are not of the table
        several = [n for n in counts if n > 1]
        if not several:
            return
        self.fields = max(several, key=lambda n: (several.count(n), n))
        while self.before < min(20, len(counts) - 1) and counts[self.before] < self.fields - 1:
            self.before += 1
        rest = counts[self.before :]
        self.fit = rest.count(self.fields) / len(counts)
        if rest[0] not in (self.fields, self.fields - 1):
            self.fit /= 2

    @classmethod
    def of(cls, sample, name):
        """Finds the delimiter with which the first records have as many fields each."""
        best = cls("\t" if ".tsv" in name.lower() else ",")
        head = sample.blocks[0][:_SNIFFED_TEXT]
        cut = not sample.whole or len(head) < len(sample.blocks[0])
        for delimiter in _NAMES:
            counts = []
            for row in _records(head, delimiter):
                counts.append(len(row))
                if len(counts) == _SNIFFED:
                    break
            if cut and 1 < len(counts) < _SNIFFED:
                counts.pop()
            layout = cls(delimiter, counts)
            if layout.fields > 1 and layout.fit > best.fit:
                best = layout
        return best


def _records(text, delimiter):
    """Yields the rows that are not empty."""
    csv.field_size_limit(1 << 30)  # no more than the text is
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
        if len(row) > 1 or (row and row[0]):
            yield row


def _aligned(block, delimiter, width):
    """Returns the rows of a block that was cut out of a text anywhere.

    Whether that is within quotes, or between two that stand for one, can't be seen from
    there: everything is tried, and what leaves the smallest share outside of rows with
    the wanted number of fields is taken.
    """
    starts = [block]
    if '"' in block:
        starts += [_after_quote(block), _after_quote(block[1:])]
    best, most = [], -1
    for text in starts:
        stream = io.StringIO(text, newline="")
        reader = csv.reader(stream, delimiter=delimiter)
        next(filter(None, reader), None)  # which was cut
        begin = after = stream.tell()
        rows, fitting = [], 0
        for row in reader:
            end = stream.tell()
            if end < len(text) and row:
                rows.append(row)
                fitting += (end - begin) * (len(row) == width)
            begin = end
        share_of_rest = fitting / max(1, len(text) - after)
        if share_of_rest > most:
            best, most = rows, share_of_rest
    return best


def _after_quote(text):
    """Returns what follows the end of a quoted field in which a text begins."""
    at = text.find('"')
    while at >= 0 and text[at + 1 : at + 2] == '"':
        at = text.find('"', at + 2)
    return text[at + 1 :] if at >= 0 else ""


def _tabulate(sample, layout):
    head = sample.blocks[0]
    rows = list(_records(head, layout.delimiter))
    if not sample.whole:
        del rows[-1:]  # which was cut
    if len(rows) <= layout.before:
        if not head.strip():
            raise NotSaid("only empty lines")
        raise NotSaid(f"not looked into: its first line is longer than {size(len(head))}")
    header, below = rows[layout.before], rows[layout.before + 1 : layout.before + 2]
    width = max(layout.fields, len(header))
    if len(header) == layout.fields - 1 and below:  # as R writes the names of rows
        header = ["(row names)", *header]
    named = is_header(header, below[0] if below else [])
    rows = rows[layout.before + named :]
    used, records = len(head), len(rows) + layout.before + named
    for block in sample.blocks[1:]:
        found = _aligned(block, layout.delimiter, width)
        rows += found
        used, records = used + (len(block) if found else 0), records + len(found) + bool(found)
    table = Table(rows, width, header if named else None)
    if not sample.whole:
        table.exact = False
        table.estimate = about(sample.size * records / (used * sample.wide) - named - layout.before)
    table.notes = list(_remarks(sample, layout, rows, width))
    label = _NAMES[layout.delimiter] + (f", encoding {sample.encoding}" if sample.encoding else "")
    return table.section(label)


def _remarks(sample, layout, rows, width):
    ragged = sum(len(row) != width for row in rows)
    if ragged:
        words = f"{count(ragged, 'row')} {'has' if ragged == 1 else 'have'}"
        if not sample.whole:
            words = f"{share(ragged, len(rows))} of the rows have"
        yield f"{words} another number of fields"
    if layout.before:
        are = "is" if layout.before == 1 else "are"
        yield f"the first {count(layout.before, 'line')} of the file {are} not of the table"
    if sample.whole and _is_open(sample.blocks[0], layout.delimiter):
        yield "a quote in the last row is not closed"


def _is_open(text, delimiter):
    """Reports whether a text ends within quotes."""
    if text.count('"') % 2 == 0:
        return False
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def is_header(row, below):
    """Guesses whether a row has names.

    Numbers are none, but for years and the like in a row whose first cell is a word.
    """
    seen = set()
    numbers = words = 0
    previous = None
    for i, cell in enumerate(row[:_HEADER]):
        cell = cell.strip()
        if not cell:
            continue
        kind, value = kind_of(cell)
        if kind == "text":
            words += 1
        elif kind == "integer" and i > 0 and (not numbers or value == previous + 1):
            numbers, previous = numbers + 1, value
        else:
            return False
        if cell in seen and len(row) < 50 and not _unlike(row, below):
            return False
        seen.add(cell)
    if numbers:
        return words > 0 and numbers > 2
    return words > 0 and (bool(below) or words == len(row[:_HEADER]))


def _unlike(row, below):
    """Reports whether there is a number below a word: a word there twice may be a name."""
    return any(
        above.strip() and kind_of(above)[0] == "text" and kind_of(cell)[0] in ("integer", "number")
        for above, cell in zip(row, below)
    )
