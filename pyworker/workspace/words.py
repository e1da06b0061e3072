"""How names, values and amounts of files are written for a reader."""

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
    return '"' + clean(str(text), CELL).replace('"', '\\"') + '"'


def named(name):
    """Returns the name of a column or a key as a reader sees it."""
    name = clean(str(name), CELL)
    return code_span(name) if name.strip() else '""'


def code_span(name):
    """Keeps a name that would be Markdown or HTML, such as a picture's, from being any."""
    if not any(c in name for c in "<>[]!`"):
        return name
    marks = _marks("`", name)
    return f"{marks} {name} {marks}"


def fence(text):
    """Puts a text between marks that it does not hold."""
    marks = _marks("```", text)
    return [marks, text, marks]


def _marks(marks, text):
    while marks in text:
        marks += "`"
    return marks


def count(n, noun, nouns=""):
    """Returns a number with a noun, as "1 row" or "1,460 rows"."""
    return f"{n:,} " + (noun if n == 1 else nouns or noun + "s")


def about(n):
    """Rounds an estimate to two digits."""
    return int(float(f"{n:.1e}"))


def size(n):
    """Returns a number of bytes, as "8 B" or "5.4 GB"."""
    unit = 0
    while n >= 1000 and unit < 6:
        n, unit = n / 1000, unit + 1
    written = f"{n:.1f}" if unit and round(n, 1) < 10 else f"{n:.0f}"
    return f"{written} {('B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB')[unit]}"


def spread(least, most):
    """Writes a range, or the one value that it has."""
    least, most = _value(least), _value(most)
    return least if least == most else f"{least} to {most}"


def _value(value):
    """Writes a bound: numbers to six digits, whole ones in full."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (bytes, bool)):
        raise TypeError("its order says nothing")
    if hasattr(value, "isoformat"):
        return str(value).partition(".")[0].removesuffix(" 00:00:00")
    value = float(value)
    return f"{value:.0f}" if value.is_integer() and abs(value) <= 1 << 53 else f"{value:.6g}"


def share(part, whole):
    """Returns a part of a whole in percent. Only all is 100%, and only nothing is 0%."""
    percent = 100 * part / max(1, whole)
    if 0 < percent < 1 or 99 < percent < 100:
        return "less than 1%" if percent < 1 else "more than 99%"
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
