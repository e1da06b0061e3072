"""What stands for a Python value in JSON. An exported script has this file's text, too."""

import datetime
import enum
import os


def plain(value):
    """Returns what stands for a value in JSON, its members as they are."""
    if value is None or type(value) in (bool, int, float, str, list, dict):
        return value
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if hasattr(value, "to_dict") and hasattr(value, "columns"):  # a table
        return value.to_dict(orient="records")
    if callable(getattr(type(value), "model_dump", None)):  # pydantic's
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, (tuple, set, frozenset, range)):
        return list(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(getattr(value, "isoformat", None)):
        if value != value:  # pandas' NaT
            raise TypeError("NaT can't be sent as JSON: use None")
        return value.isoformat()
    if callable(getattr(value, "tolist", None)):  # numpy's, whose dates come as Python's
        found = value.tolist()
        return found if type(found) is type(value) or type(found) is list else plain(found)
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    for kind in (str, int, float, dict, list):  # a subclass
        if isinstance(value, kind):
            return kind(value)
    raise TypeError(f"a value of type {type(value).__name__} can't be sent as JSON{_remedy(value)}")


def _remedy(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return ": use base64.b64encode(value).decode(), or value.decode() for text"
    if isinstance(value, datetime.timedelta):
        return ": use value.total_seconds()"
    if hasattr(value, "__iter__"):
        return ": use list(value)"
    return ": use str(value) or float(value), as the tool wants it"
