"""Files that are no texts, told from what they say of themselves, by the libraries that
are there: Parquet by pyarrow, workbooks by openpyxl, pictures by Pillow."""

import importlib
import re
import zipfile

from .columns import Table, first_and_last
from .tables import is_header
from .words import NAME, NotSaid, clean, count, named, number, quoted, section, share, spread

PICTURES = frozenset([".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"])
_LIBRARIES = {
    ".parquet": "pyarrow.parquet",
    ".pq": "pyarrow.parquet",
    ".xlsx": "openpyxl",
    ".xlsm": "openpyxl",
    **dict.fromkeys(PICTURES, "PIL.Image"),
}
_SHEETS = 8  # of a workbook that are described
_ROWS = 2000  # of a sheet
_CELLS = 200_000  # of a sheet
_WORKBOOK = 32 << 20  # bytes of a workbook, and of what is in it
_ARRAYS = 20  # of an archive
_SHAPE = re.compile(rb"'shape': *\(([0-9, ]*)\)")
_TYPE = re.compile(rb"'descr': *(?:'([^']{1,20})'|(\[))")
_TYPES = {
    "f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool", "M": "datetime",
    "m": "timedelta", "O": "object",
}  # fmt: skip


def prepare(kind):
    """Imports what a kind of file is read with, or says that it is not there."""
    name = _LIBRARIES.get(kind)
    try:
        return name and importlib.import_module(name)
    except Exception:
        library = name.partition(".")[0]
        raise NotSaid(
            f"not looked into: this Python has no {library}, which `understudy setup` brings"
        ) from None


def read_parquet(file, _, size, _room):
    """Describes a Parquet file from its footer; no data is read."""
    parquet = prepare(".parquet")
    file.seek(max(0, size - 4))
    if size < 12 or file.read(4) not in (b"PAR1", b"PARE"):
        raise NotSaid("not a Parquet file, or not a whole one")
    try:
        known = parquet.ParquetFile(file).metadata
    except Exception as error:
        raise NotSaid("encrypted" if "encrypt" in str(error) else "its footer is damaged") from None
    columns = [_Stored(known, i) for i in range(known.num_columns)]
    names = first_and_last(columns, len(columns), lambda each: each.name)
    return section(
        f"Parquet: {count(known.num_rows, 'row')} × {count(len(columns), 'column')}, "
        + count(known.num_row_groups, "row group"),
        first_and_last(columns, len(columns), lambda each: f"- {each.name}: {each.describe()}"),
        "Columns: " + ", ".join(names),
        repr([(each.name, each.kind) for each in columns]),
    )


_KINDS = {
    "STRING": "text", "ENUM": "text (enum)", "DECIMAL": "decimal", "DATE": "date",
    "TIME": "time of day", "TIMESTAMP": "timestamp", "JSON": "JSON", "UUID": "UUID",
    "FLOAT16": "float16", "BOOLEAN": "boolean", "INT32": "integer", "INT64": "integer",
    "INT96": "timestamp", "FLOAT": "number", "DOUBLE": "number", "BYTE_ARRAY": "bytes",
    "FIXED_LEN_BYTE_ARRAY": "bytes",
}  # fmt: skip


class _Stored:
    """A column of which values are stored. A nested one is named by its path."""

    def __init__(self, known, i):
        column = known.schema.column(i)
        self._path = column.path
        self.name = named(column.path)
        self.kind = _KINDS.get(column.logical_type.type) or _KINDS.get(column.physical_type, "")
        self._rows = known.num_rows
        groups = (known.row_group(group).column(i) for group in range(known.num_row_groups))
        self._statistics = [each.statistics if each.is_stats_set else None for each in groups]

    def describe(self):
        """Says what it holds, by the statistics of its parts."""
        words, parts = self.kind, self._statistics
        if parts and all(each and each.has_min_max for each in parts) and words != "boolean":
            try:
                words += ", " + spread(min(p.min for p in parts), max(p.max for p in parts), _bound)
            except (TypeError, ValueError, OverflowError):
                pass  # bytes, or what has no order
        if "." not in self._path and all(each and each.has_null_count for each in parts):
            nulls = sum(each.null_count for each in parts)
            words += f", {nulls} missing ({share(nulls, self._rows)})" if nulls else ""
        return words


def _bound(value):
    if isinstance(value, str):
        return quoted(value)
    if hasattr(value, "isoformat"):
        return str(value).partition(".")[0]
    if isinstance(value, bytes):
        raise TypeError
    return number(float(value))


def read_workbook(file, _, size, room):
    """Describes the sheets of a workbook by their first rows."""
    openpyxl = prepare(".xlsx")
    try:
        with zipfile.ZipFile(file) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if size > min(_WORKBOOK, room) or unpacked > 4 * _WORKBOOK:
            raise NotSaid("not looked into: too large for a workbook; read it with nrows")
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = [_sheet(each) for each in book.worksheets[:_SHEETS]]
    except (NotSaid, MemoryError):
        raise
    except Exception as error:
        raise NotSaid(clean(f"can't be read as a workbook: {error}", 160)) from None
    if len(sheets) == 1:
        sheets[0]["head"] = "Excel, sheet" + sheets[0]["head"].removeprefix("Sheet")
        return sheets[0]
    left = len(book.worksheets) - len(sheets)
    full = [line for each in sheets for line in [each["head"], *each["full"]]]
    simple = [f"{each['title']}: {each['simple']}" for each in sheets if each["simple"]]
    return section(
        f"Excel, {count(len(book.worksheets), 'sheet')}",
        full + ([f"… and {count(left, 'more sheet')}"] if left else []),
        "\n".join(simple),
    )


def _sheet(sheet):
    title = f"Sheet {quoted(sheet.title)}"
    rows, read, held = [], 0, 0
    for row in sheet.iter_rows(max_row=_ROWS, values_only=True):
        read, held = read + 1, held + len(row)
        cells = [_cell(value) for value in row]
        if any(map(str.strip, cells)):
            rows.append(cells)
        if held >= _CELLS:
            break
    last = max(read, sheet.max_row or 0)
    if not rows:
        nothing = f"nothing in the first {count(read, 'row')}" if last > read > 0 else "empty"
        return {**section(f"{title}: {nothing}"), "title": title}
    width = max(i + 1 for row in rows for i, cell in enumerate(row) if cell)
    header = is_header(rows[0][:width], rows[1] if len(rows) > 1 else [])
    table = Table([row[:width] for row in rows[header:]], width, rows[0] if header else None)
    told = {**table.section(title), "title": title}
    if last > read:
        here, all_rows = count(table.rows, "row"), count(table.rows + last - read, "row")
        head = told["head"].replace(f": {here} ×", f": {all_rows} ×", 1)
        told["head"] = f"{head}; the columns are described from the first {here}"
    return told


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    return str(value).removesuffix(" 00:00:00")  # of a date


def read_npy(file, *_):
    """Describes an array from its header."""
    return section(f"numpy array: {_array(file)}")


def read_npz(file, *_):
    """Describes the arrays of an archive from their headers."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OSError):
        raise NotSaid("not a file of numpy's") from None
    lines = []
    for part in archive.infolist()[:_ARRAYS]:
        try:
            with archive.open(part) as inside:
                words = _array(inside)
        except Exception as error:
            words = str(error) if isinstance(error, NotSaid) else "can't be read"
        lines.append(f"- {named(part.filename.removesuffix('.npy'))}: {words}")
    n = len(archive.infolist())
    if n > _ARRAYS:
        lines.append(f"- … and {count(n - _ARRAYS, 'more array')}")
    return section(f"numpy archive, {count(n, 'array')}", lines, "\n".join(lines))


def _array(file):
    """Reads a header: a magic word, a version, a length and a literal of Python's."""
    start = file.read(10)
    more = file.read(2) if start[6:7] >= b"\x02" else b""
    header = file.read(min(int.from_bytes(start[8:] + more, "little"), 64 << 10))
    kind, shape = _TYPE.search(header), _SHAPE.search(header)
    if start[:6] != b"\x93NUMPY" or not kind or not shape:
        raise NotSaid("not a file of numpy's")
    dimensions = shape[1].decode().replace(",", " ").split()
    code = (kind[1] or b"").decode("latin-1").lstrip("<>|=")
    return clean(" × ".join(dimensions) or "a single value", NAME) + f", {clean(_type(code), NAME)}"


def _type(code):
    """Returns numpy's name of a type that is written as "f8"."""
    if code[:1] in ("U", "S"):
        return f"{'text' if code[0] == 'U' else 'bytes'} of up to {code[1:]} characters"
    name = _TYPES.get(code[:1], "")
    if not code or not name:
        return code or "records"
    return f"{name}{int(code[1:]) * 8}" if code[0] in "fiuc" and code[1:].isdecimal() else name


def dimensions(file):
    """Returns the width and the height of a picture."""
    with prepare(".png").open(file) as picture:
        return "{}×{}".format(*picture.size)
