"""How names, values and amounts of files are written for a reader."""

import math
import unicodedata

CELL = 60  # characters of a cell or a key
NAME = 80  # characters of a file's name
_LINE_ENDS = "\n\r\t\u2028\u2029"


class NotSaid(Exception):
    """Why a file is not described, in a clause for its line; "" if there is nothing to say."""


def section(head, full=(), simple="", form=""):
    """Returns what is told of a file.

    head is the kind and the dimensions in one line; full are the particulars, and simple
    what stands in their place when all is too long; form tells files apart that have not
    the same columns, "" is like no other.
    """
    return {"head": head, "full": list(full), "simple": simple, "form": form}


def clean(text, most):
    """Makes one line of a text: line ends are blanks, and what has no picture is left out."""
    kept = []
    for c in text[: 8 * most]:
        if c in _LINE_ENDS:
            kept.append(" ")
        elif unicodedata.category(c) not in ("Cc", "Cf", "Co", "Cs"):
            kept.append(c)
    return "".join(kept[:most]) + ("…" if len(kept) > most else "")


def quoted(text):
    """Returns a cell as a reader sees it."""
    return '"' + clean(text, CELL).replace('"', '\\"') + '"'


def listed(values, most):
    """Returns the first of some cells."""
    return ", ".join(quoted(value) for value in values[:most])


def named(name):
    """Returns the name of a column or a key as a reader sees it."""
    name = clean(name, CELL)
    return code_span(name) if name.strip() else '""'


def code_span(name):
    """Keeps a name that would be Markdown or HTML, such as a picture's, from being any."""
    if not any(c in name for c in "<>[]!`"):
        return name
    marks = "`"
    while marks in name:
        marks += "`"
    return f"{marks} {name} {marks}"


def fence(text):
    """Puts a text between marks that it does not hold."""
    marks = "```"
    while marks in text:
        marks += "`"
    return [marks, text, marks]


def count(n, noun, nouns=""):
    """Returns a number with a noun, as "1 row" or "1,460 rows"."""
    return f"{n:,} " + (noun if n == 1 else nouns or noun + "s")


def size(n):
    """Returns a number of bytes, as "8 B" or "5.4 GB"."""
    unit = 0
    while n >= 1000 and unit < 6:
        n, unit = n / 1000, unit + 1
    written = f"{n:.1f}" if unit and round(n, 1) < 10 else f"{n:.0f}"
    return f"{written} {('B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB')[unit]}"


def about(n):
    """Rounds an estimate to two digits."""
    if not 100 <= n < 1e18:
        return int(max(0, min(n, 1e18)))
    unit = 10 ** (math.floor(math.log10(n)) - 1)
    return round(n / unit) * unit


def number(value):
    """Writes a value to six digits, whole numbers in full."""
    whole = isinstance(value, int) or (abs(value) <= 1 << 53 and value == math.trunc(value))
    return f"{value:.0f}" if whole else f"{value:.6g}"


def spread(least, most, write=number):
    """Writes a range, or the one value that it has."""
    return write(least) if least == most else f"{write(least)} to {write(most)}"


def share(part, whole):
    """Returns a part of a whole in percent. Only all is 100%, and only nothing is 0%."""
    percent = 100 * part / max(1, whole)
    if part in (0, whole):
        return f"{percent:.0f}%"
    if percent < 0.1:
        return "less than 0.1%"
    if percent > 99.9:
        return "more than 99.9%"
    if percent < 10 or percent > 90:
        return f"{percent:.1f}%".replace(".0%", "%")
    return f"{percent:.0f}%"


def what_is_wrong(error):
    """Says in a few words what is wrong with a file, without paths of this machine."""
    if isinstance(error, NotSaid):
        return str(error)
    if isinstance(error, PermissionError):
        return "can't be read: permission denied"
    if isinstance(error, FileNotFoundError):
        return "gone while it was looked at"
    if isinstance(error, MemoryError):
        return "not looked into: it takes too much memory"
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return clean(f"can't be described: {why or type(error).__name__}", 160)
