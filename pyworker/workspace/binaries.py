"""Files that are no texts, told by the libraries that are there: Parquet by pyarrow,
workbooks by pandas and openpyxl, arrays by numpy, pictures by Pillow."""

import contextlib
import importlib
import zipfile

from . import tables
from .words import CELL, NotSaid, clean, count, named, quoted, section, share, spread

PICTURES = frozenset([".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"])
_LIBRARIES = {
    ".parquet": "pyarrow.parquet",
    ".pq": "pyarrow.parquet",
    ".xlsx": "openpyxl",
    ".xlsm": "openpyxl",
    **dict.fromkeys((".npy", ".npz"), "numpy.lib.format"),
    **dict.fromkeys(PICTURES, "PIL.Image"),
}
_TABLES = "csv tsv tab psv txt dat data gz bz2 xlsx xlsm".split()  # noqa: SIM905
_SHEETS = 8  # of a workbook that are described
_ROWS = 2000  # of a sheet
_WORKBOOK = 32 << 20  # bytes of a workbook; four times that of what is in it
_ARRAYS = 20  # of an archive
_COLUMNS = 50  # of a Parquet file


def library(kind):
    """Imports what a kind of file is read with, or says that it is not there."""
    name = _LIBRARIES.get(kind, kind)
    try:
        return importlib.import_module(name)
    except Exception:
        package = name.partition(".")[0]
        raise NotSaid(
            f"not looked into: this Python has no {package}, which `understudy setup` brings"
        ) from None


def prepare(kinds):
    """Imports what some kinds of files are read with, once for all of the processes."""
    names = {_LIBRARIES[kind] for kind in kinds if kind in _LIBRARIES}
    if any(kind.rpartition(".")[2] in _TABLES for kind in kinds):
        names.add("pandas")
    for name in names:
        with contextlib.suppress(Exception):  # whoever reads a file says what is missing
            importlib.import_module(name)


def read_parquet(file, *_):
    """Describes a Parquet file from its footer; no data is read."""
    parquet = library(".parquet")
    try:
        stored = parquet.ParquetFile(file)
        known, schema = stored.metadata, stored.schema_arrow
    except Exception as error:
        wrong = "encrypted" if "encrypt" in str(error) else "not a Parquet file, or a damaged one"
        raise NotSaid(wrong) from None
    paths = {known.schema.column(i).path: i for i in range(known.num_columns)}
    lines = [
        f"- {named(name)}: {_stored(known, paths.get(name), kind)}"
        for name, kind in zip(schema.names[:_COLUMNS], schema.types)
    ]
    left = len(schema.names) - _COLUMNS
    lines += [f"… and {count(left, 'more column')}"] if left > 0 else []
    return section(
        f"Parquet: {count(known.num_rows, 'row')} × {count(len(schema.names), 'column')}",
        lines,
        "Columns: " + ", ".join(map(named, schema.names[:_COLUMNS])),
        clean(str(schema), 10_000),
    )


def _stored(known, column, kind):
    """Says what a column holds, by the statistics of its parts."""
    words = clean(str(kind), CELL)
    if column is None:  # it is nested
        return words
    groups = (known.row_group(i).column(column) for i in range(known.num_row_groups))
    parts = [each.statistics if each.is_stats_set else None for each in groups]
    if parts and all(each and each.has_min_max for each in parts):
        try:
            words += ", " + spread(min(p.min for p in parts), max(p.max for p in parts))
        except (TypeError, ValueError, OverflowError):
            pass  # what has no order
    if all(each and each.has_null_count for each in parts):
        nulls = sum(each.null_count for each in parts)
        words += f", {nulls} missing ({share(nulls, known.num_rows)})" if nulls else ""
    return words


def read_workbook(file, _, size, room):
    """Describes the sheets of a workbook by their first rows."""
    library(".xlsx")
    pandas = library("pandas")
    try:
        with zipfile.ZipFile(file) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if size > min(_WORKBOOK, room) or unpacked > 4 * _WORKBOOK:
            raise NotSaid("not looked into: too large for a workbook; read it with nrows")
        with pandas.ExcelFile(file, engine="openpyxl") as book:
            names = book.sheet_names
            sheets = [_sheet(book, name) for name in names[:_SHEETS]]
    except (NotSaid, MemoryError):
        raise
    except Exception as error:
        raise NotSaid(clean(f"can't be read as a workbook: {error}", 160)) from None
    left = len(names) - len(sheets)
    return section(
        f"Excel, {count(len(names), 'sheet')}",
        [line for each in sheets for line in [each["head"], *each["full"]]]
        + ([f"… and {count(left, 'more sheet')}"] if left else []),
        "\n".join(filter(None, (each["simple"] for each in sheets))),
    )


def _sheet(book, name):
    pandas = library("pandas")
    first = pandas.read_excel(book, sheet_name=name, nrows=1, header=None, dtype=str)
    if first.empty:
        return section(f"Sheet {quoted(name)}: empty")
    has_names = tables.is_header(first.iloc[0].fillna(""))
    header = 0 if has_names else None
    table = pandas.read_excel(book, sheet_name=name, nrows=_ROWS, header=header, dtype=str)
    first = "the first " if len(table) == _ROWS else ""
    head = f"Sheet {quoted(name)}: {first}{count(len(table), 'row')}"
    if not has_names:
        table.columns = range(1, len(table.columns) + 1)
    return tables.of_frame(table, head, remarks=[] if has_names else [tables.NO_HEADER])


def read_npy(file, *_):
    """Describes an array from its header."""
    return section(f"numpy array: {_array(file)}")


def read_npz(file, *_):
    """Describes the arrays of an archive from their headers."""
    try:
        parts = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, ValueError, OSError):
        raise NotSaid("not a file of numpy's") from None
    lines = []
    for part in parts[:_ARRAYS]:
        try:
            with zipfile.ZipFile(file).open(part) as inside:
                words = _array(inside)
        except Exception as error:
            words = str(error) if isinstance(error, NotSaid) else "can't be read"
        lines.append(f"- {named(part.filename.removesuffix('.npy'))}: {words}")
    left = len(parts) - _ARRAYS
    lines += [f"- … and {count(left, 'more array')}"] if left > 0 else []
    return section(f"numpy archive, {count(len(parts), 'array')}", lines, "\n".join(lines))


def _array(file):
    headers = library(".npy")
    try:
        first = headers.read_magic(file) == (1, 0)
        read = headers.read_array_header_1_0 if first else headers.read_array_header_2_0
        shape, _, dtype = read(file)
    except Exception:
        raise NotSaid("not a file of numpy's") from None
    return f"{' × '.join(map(str, shape)) or 'a single value'}, {clean(str(dtype), CELL)}"


def dimensions(file):
    """Returns the width and the height of a picture."""
    with library(".png").open(file) as picture:
        return "{}×{}".format(*picture.size)
