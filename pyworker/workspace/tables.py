"""Tables, by pandas: how one is written as a text, and what its columns hold."""

import csv
import io
import re
import warnings

from .words import NotSaid, about, count, named, quoted, section, share, size, spread

_NAMES = {
    ",": "CSV",
    "\t": "Tab-separated",
    ";": 'CSV with delimiter ";"',
    "|": 'CSV with delimiter "|"',
}
_SNIFFED, _SNIFFED_TEXT = 100, 1 << 20  # records, and characters
_SHOWN_FIRST, _SHOWN_LAST = 40, 10  # columns that are looked into where there are more
_MOSTLY = 0.95  # of the cells are numbers in a column of numbers
NO_HEADER = "no header"
_FEW = 6  # distinct values that are all told
_FEW_NUMBERS = 20  # distinct ones that may stand for kinds


def read_table(sample, name):
    """Describes a text with a delimiter; without pandas its beginning is shown."""
    from .texts import read_text

    sample.refuse_binary()
    if not sample.text.strip():
        raise NotSaid("only empty lines")
    try:
        import pandas  # noqa: F401
    except ImportError:
        return read_text(sample, name)
    delimiter, width, before, names = _layout(sample.text, "\t" if ".tsv" in name.lower() else ",")
    how = {"sep": delimiter, "skiprows": before, "header": 0 if names else None}
    if not names:
        how["names"] = range(1, width + 1)
    if width > _SHOWN_FIRST + _SHOWN_LAST:
        how["usecols"] = [*range(_SHOWN_FIRST), *range(width - _SHOWN_LAST, width)]
    table, left_out, is_open = _parsed(sample.text, bool(names), how)
    rows, remarks = count(len(table), "row"), []
    if not sample.whole:
        if not len(table):
            raise NotSaid(f"not looked into: its first line is longer than {size(sample.read)}")
        rows = f"about {count(about(sample.size / sample.read * len(table)), 'row')}"
        remarks.append(f"described from the first {count(len(table), 'row')}")
    if before:
        remarks.append(f"what comes before line {before + 1} is not of the table")
    if left_out:
        remarks.append(f"{count(left_out, 'row')} with too many fields left out")
    if is_open and sample.whole:  # else the cut may be in a cell
        remarks.append("what comes after these is left out: a quote is not closed")
    label = _NAMES[delimiter] + (f", encoding {sample.encoding}" if sample.encoding else "")
    remarks = [*[NO_HEADER] * (not names), *remarks]
    whole_width = width if "usecols" in how else 0  # a column of row names counts for none
    return of_frame(table, f"{label}: {rows}", whole_width, remarks, sample.whole)


def _parsed(text, header, how):
    """Returns a table of texts, how many rows had more fields, and if a quote is open after it."""
    import pandas

    is_open = False

    def parse(rows=None):
        file = io.StringIO(text)
        return pandas.read_csv(file, dtype=str, on_bad_lines="warn", nrows=rows, **how)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            table = parse()
        except pandas.errors.ParserError as error:  # a quote is open at the end
            at = re.search(r"starting at row (\d+)", str(error))
            if at is None or (rows := int(at[1]) - how["skiprows"] - header) < 1:
                raise NotSaid(
                    "not looked into: one record is all of it, or a quote is open"
                ) from None
            table, is_open = parse(rows), True
    return table, sum(str(each.message).count("Skipping line") for each in told), is_open


def is_table(text):
    """Reports whether the lines of a text have as many fields each, and at least three."""
    delimiter, width, _, _ = _layout(text, ",")
    lengths = [len(row) for row in _records(text, delimiter)]
    return width >= 3 and len(lengths) >= 5 and lengths.count(width) >= _MOSTLY * len(lengths)


def _layout(text, otherwise):
    """Returns delimiter, fields of a record, lines before the table, whether it has a header."""
    best, fit = (otherwise, 1, 0), 0
    for delimiter in _NAMES:
        lengths = [len(row) for row in _records(text, delimiter)]
        several = [n for n in lengths if n > 1]
        if not several:
            continue
        width = max(several, key=lambda n: (several.count(n), n))
        before = next(i for i, n in enumerate(lengths) if n >= width - 1)
        if lengths.count(width) > fit:
            best, fit = (delimiter, width, before), lengths.count(width)
    rows = _records(text, best[0])[best[2] :]
    return *best, not rows or is_header(rows[0])


def _records(text, delimiter):
    """Returns the first records; the last one may have been cut, as by a quote that is open."""
    csv.field_size_limit(1 << 30)  # no more than the text is
    reader = csv.reader(io.StringIO(text[:_SNIFFED_TEXT], newline=""), delimiter=delimiter)
    return [row for _, row in zip(range(_SNIFFED), reader)]


def is_header(row):
    """Guesses whether a row has names: none is a number, but for years and the like."""
    cells = [cell.strip() for cell in row]
    return bool(cells) and not any(
        _is_number(cell) and not (i and cell.isdecimal()) for i, cell in enumerate(cells)
    )


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def of_frame(table, head, width=0, remarks=(), exact=True):
    """Returns what is told of a table whose cells are texts.

    width is that of the whole where the table has some of its columns only.
    """
    has_names = NO_HEADER not in remarks
    titles = [named(each) if has_names else f"column {each}" for each in table.columns]
    width = max(width, len(titles))
    lines = [f"- {title}: {_column(table.iloc[:, i], exact)}" for i, title in enumerate(titles)]
    form = repr(titles) if has_names else ""
    if width > len(titles):
        between = f"… {count(width - len(titles), 'column')} between them"
        lines.insert(_SHOWN_FIRST, between)
        titles.insert(_SHOWN_FIRST, between)
    head = "; ".join([f"{head} × {count(width, 'column')}", *remarks])
    return section(head, lines, "Columns: " + ", ".join(titles), form)


def _column(cells, exact):
    """Says what a column holds. exact: all rows were looked at."""
    import pandas

    filled = cells.dropna()
    if not len(filled):
        return "empty"
    numbers = pandas.to_numeric(filled, errors="coerce").dropna()
    if len(numbers) >= _MOSTLY * len(filled):
        facts = _numbers(filled, numbers, exact and len(cells))
    elif (dates := _dates(filled)) is not None:
        facts = [f"date, {spread(dates.min(), dates.max())}"]
    else:
        distinct = filled.unique()
        n, some = len(distinct), ", ".join(map(quoted, distinct[:3]))
        if exact and n == len(cells) > 1:
            facts = ["text", f"all distinct, such as {some}"]
        elif n > _FEW:
            facts = ["text", f"{n:,} distinct, such as {some}"]
        else:
            words = "a single value" if n == 1 else f"{n} distinct"
            facts = ["text", f"{words}: {', '.join(map(quoted, distinct))}"]
    if missing := len(cells) - len(filled):
        part = share(missing, len(cells))
        facts.append(f"{missing} missing ({part})" if exact else f"{part} missing")
    return ", ".join(facts)


def _numbers(filled, numbers, rows):
    whole, distinct = not filled.str.contains("[.eE]").any(), numbers.nunique()
    facts = ["integer" if whole else "number", spread(numbers.min(), numbers.max())]
    if whole and 1 < distinct == rows:
        facts.append("all distinct")
    elif whole and 1 < distinct <= _FEW_NUMBERS:
        facts.append(f"{distinct} distinct")
    if filled.str.match(r"0\d").any():
        facts.append("some with leading zeros")
    if len(numbers) < len(filled):
        odd = filled[~filled.index.isin(numbers.index)]
        facts.append(f"but {count(len(odd), 'cell')} of text, such as {quoted(odd.iloc[0])}")
    return facts


def _dates(filled):
    """Returns the dates of a column that has some as ISO writes them, else None."""
    import pandas

    if not filled.str.match(r"\d{4}-\d\d-\d\d").all():
        return None
    try:
        return pandas.to_datetime(filled, format="ISO8601", utc=True).dt.tz_localize(None)
    except ValueError:
        return None
