"""Python values as JSON: what has a defined form gets it, the rest its repr.

The forms:

    None, bool, int, str          themselves; an int keeps all its digits
    float                         itself; NaN and infinities become null, named
    list, tuple, deque, range,
    array, dict views             array
    set, frozenset                array, sorted where its elements can be
    dict and other mappings       object; a key that is no str becomes one
    namedtuple, dataclass, attrs,
    pydantic models               object of the fields
    bytes, bytearray, memoryview  {"type": "bytes", "length": n, "base64": "..."}
    complex                       {"real": x, "imag": y}
    date, time, datetime          ISO 8601
    timedelta                     seconds
    Decimal, Fraction, UUID,
    paths, IP addresses           string
    Enum                          its value
    numpy, pandas, scipy, torch   see encode_numpy.py and encode_pandas.py

A container that is too large for the limit is cut, and says how many elements
were left out; a cycle ends in "<cycle>".
"""

import _collections_abc
import sys
import types

from pyworker import late

DEPTH_LIMIT = 100
NOTES_LIMIT = 50
NAMED_PLACES = 10  # places of one kind that notes name; the others are counted
REPR_LIMIT = 100_000  # characters of a result that is a repr
NESTED_REPR_LIMIT = 1000  # characters of a repr inside a container
KEY_LIMIT = 1000  # characters
BITS_LIMIT = 13_000  # of an int, about 3,900 digits; Python refuses more than 4,300
_SORTED_LIMIT = 100_000  # elements of a set


class Encoded:
    """A value in JSON's terms, with what a reader should know of it."""

    __slots__ = ("value", "encoding", "notes")

    def __init__(self, value, encoding, notes):
        self.value = value
        self.encoding = encoding  # "json" or "repr"
        self.notes = notes


def encode(value, limit):
    """Encodes a value in about limit bytes of JSON at most."""
    encoder = Encoder(limit)
    form = encoder.find(value)
    if form is None:
        encoder.notes.append(f"a {type(value).__name__} has no JSON form: the result is its repr")
        text = encoder.text(safe_repr(value, min(limit, REPR_LIMIT)))
        return Encoded(text, "repr", encoder.all_notes())
    form = encoder.value(value)
    return Encoded(form, encoder.encoding, encoder.all_notes())


def safe_repr(value, limit):
    """Returns repr(value) in limit characters, or says why there is none."""
    try:
        text = repr(value)
    except Exception as error:
        return f"<{_describe_failure(type(value).__name__, error)}>"
    if len(text) > limit:
        text = f"{text[:limit]}… [{len(text) - limit} characters left out]"
    return text


def _describe_failure(name, error):
    try:
        message = f"{type(error).__name__}: {error!s:.200}"
    except Exception:
        message = type(error).__name__
    return f"{name} object; its __repr__ raised {message}"


class Encoder:
    """Encodes one value; it knows the place it is at and the room that is left."""

    def __init__(self, limit):
        self.room = limit  # bytes, as estimated
        self.encoding = "json"
        self.notes = []
        self._places = {}  # kind of remark -> [places, count]
        self._path = []
        self._open = {}  # ids of the containers we are in

    def value(self, value):
        """Returns value in JSON's terms."""
        form = self.find(value) or self._nested_repr
        if form in _SCALARS:
            return form(self, value)
        if id(value) in self._open:
            self.remark('a cycle at {} became "<cycle>"')
            return "<cycle>"
        if len(self._path) > DEPTH_LIMIT:
            self.remark(f"{{}} is nested deeper than {DEPTH_LIMIT} levels: its type is shown")
            return f"<{type(value).__name__}>"
        self._open[id(value)] = value
        try:
            return form(self, value)
        except Exception as error:
            self.remark(f"{{}} could not be encoded ({type(error).__name__}) and became its repr")
            if not self._path:
                self.encoding = "repr"
            return self.text(safe_repr(value, NESTED_REPR_LIMIT))
        finally:
            del self._open[id(value)]

    def find(self, value):
        """Returns the function that encodes a value, None where there is none."""
        kind = type(value)
        form = _EXACT.get(kind)
        if form is not None:
            return form
        for base in kind.__mro__[:-1]:
            form = _EXACT.get(base) or _in_package(base)
            if base is tuple and isinstance(getattr(kind, "_fields", None), tuple):
                return _named
            if form is not None:
                return form
        return _by_shape(kind)

    def at(self, key, value, *inner):
        """Encodes a value that stands at a key or an index, and further ones in it."""
        depth = len(self._path)
        self._path += (key, *inner)
        try:
            return self.value(value)
        finally:
            del self._path[depth:]

    def items(self, values, count=None):
        """Encodes values as an array, as many as there is room for.

        count is how many there are, for values that can't be asked.
        """
        result = []
        self.room -= 2
        for index, value in enumerate(values):
            if self.room <= 0:
                total = len(values) if count is None else count
                result.append(self._left_out(total - index))
                break
            self.room -= 2
            result.append(self.at(index, value))
        return result

    def while_room(self, values):
        """Yields each (index, value) as long as there is room, and no mark of a cut."""
        for pair in enumerate(values):
            if self.room <= 0:
                return
            self.room -= 2
            yield pair

    def fields(self, pairs, count=None):
        """Encodes (key, value) pairs as an object, as many as there is room for."""
        result = {}
        self.room -= 2
        for index, (key, value) in enumerate(pairs):
            if self.room <= 0:
                total = len(pairs) if count is None else count
                result["…"] = self._left_out(total - index)
                break
            text = self._key(key, result)
            self.room -= len(text) + 6
            result[text] = self.at(key, value)
        return result

    def text(self, text):
        """Encodes a str, cut where there is no room and without lone surrogates."""
        if len(text) > max(self.room, 100):
            self.remark("{} was cut for its length")
            room = max(self.room, 100)
            text = f"{text[:room]}… [{len(text) - room} characters left out]"
        if not text.isascii():
            text = self._without_surrogates(text)
        self.room -= len(text)
        return text

    def remark(self, sentence):
        """Notes something about the present place, "{}" in the sentence."""
        places = self._places.setdefault(sentence, [[], 0])
        places[1] += 1
        if len(places[0]) < NAMED_PLACES and self._place() not in places[0]:
            places[0].append(self._place())

    def all_notes(self):
        """Returns what was noted, the first places of each kind by name."""
        notes = list(self.notes)
        for sentence, (places, count) in self._places.items():
            note = sentence.replace("{}", ", ".join(places), 1)
            more = count - len(places)
            notes.append(f"{note} (and at {more} more places)" if more else note)
        return notes[:NOTES_LIMIT]

    def _place(self):
        parts = (f"[{safe_repr(key, 100)}]" for key in self._path)
        return "".join(parts) or "the value itself"

    def _left_out(self, count):
        self.remark(f"{{}} was cut: {count} elements were left out")
        return f"<{count} more elements left out>"

    def _without_surrogates(self, text):
        try:
            text.encode("utf-8")
            return text
        except UnicodeEncodeError:
            self.remark("lone surrogates in the text at {} were replaced")
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _key(self, key, taken):
        text = _key_text(key)
        text = self._without_surrogates(text[:KEY_LIMIT])
        if text not in taken:
            return text
        self._path.append(key)
        self.remark("the key at {} looks like another one as text: its type was added")
        self._path.pop()
        number, name = 1, f"{text} ({type(key).__name__})"
        while name in taken:
            number += 1
            name = f"{text} ({type(key).__name__} {number})"
        return name

    @staticmethod
    def _nested_repr(encoder, value):
        name = type(value).__name__
        encoder.remark(f"{{}} has no JSON form (it is of type {name}) and became its repr")
        return encoder.text(safe_repr(value, NESTED_REPR_LIMIT))


def _key_text(key):
    if type(key) is str:
        return key
    if isinstance(key, str):
        return str.__str__(key)
    enum = sys.modules.get("enum")
    if enum is not None and isinstance(key, enum.Enum):
        return _key_text(key._value_)
    if hasattr(key, "isoformat"):
        return key.isoformat()
    try:
        return str(key)
    except Exception as error:
        return f"<{type(key).__name__} object; its __str__ raised {type(error).__name__}>"


# The forms. Each takes the encoder and the value.


def _same(encoder, value):
    encoder.room -= 5
    return value


def _int(encoder, value):
    value = int.__index__(value)
    if value.bit_length() > _bits_limit():
        encoder.remark("the int at {} has too many digits and became hexadecimal text")
        return encoder.text(hex(value))
    encoder.room -= 1 + value.bit_length() // 3
    return value


def _bits_limit():
    """Returns how long an int may be; the user can allow fewer digits than Python does."""
    digits = getattr(sys, "get_int_max_str_digits", int)()
    return min(BITS_LIMIT, digits * 3 or BITS_LIMIT)


def _float(encoder, value):
    value = float.__float__(value)
    encoder.room -= 18
    if value - value == 0.0:
        return value
    name = "NaN" if value != value else "infinity" if value > 0 else "-infinity"
    encoder.remark(f"{name} at {{}} became null")
    return None


def _str(encoder, value):
    return encoder.text(str.__str__(value))


def _complex(encoder, value):
    return encoder.fields((("real", value.real), ("imag", value.imag)))


def _bytes(encoder, value):
    binascii = late.load("binascii")
    view = memoryview(value).cast("B") if memoryview(value).c_contiguous else bytes(value)
    room = max(encoder.room, 100) * 3 // 4
    encoder.room -= min(len(view), room) * 4 // 3 + 40
    form = {"type": "bytes", "length": len(view)}
    form["base64"] = binascii.b2a_base64(view[:room], newline=False).decode("ascii")
    if len(view) > room:
        form["truncated"] = True
        encoder.remark(f"{{}} was cut: {len(view) - room} bytes were left out")
    return form


def _sequence(encoder, value):
    return encoder.items(value)


def _set(encoder, value):
    try:
        return encoder.items(sorted(value) if len(value) <= _SORTED_LIMIT else value)
    except TypeError:
        return encoder.items(value)


def _dict(encoder, value):
    return encoder.fields(value.items())


def _named(encoder, value):
    return encoder.fields(tuple(zip(value._fields, value)))


def _dataclass(encoder, value):
    names = [n for n in type(value).__dataclass_fields__ if hasattr(value, n)]
    return encoder.fields([(n, getattr(value, n)) for n in names])


def _attrs(encoder, value):
    names = [a.name for a in type(value).__attrs_attrs__]
    return encoder.fields([(n, getattr(value, n)) for n in names])


def _model(encoder, value):
    return encoder.value(value.model_dump())


def _old_model(encoder, value):
    return encoder.value(value.dict())


def _enum(encoder, value):
    return encoder.value(value._value_)


def _text(encoder, value):
    return encoder.text(str(value))


def _iso(encoder, value):
    return encoder.text(value.isoformat())


def _seconds(encoder, value):
    return _float(encoder, value.total_seconds())


_EXACT = {
    type(None): _same,
    bool: _same,
    int: _int,
    float: _float,
    str: _str,
    complex: _complex,
    bytes: _bytes,
    bytearray: _bytes,
    memoryview: _bytes,
    list: _sequence,
    tuple: _sequence,
    range: _sequence,
    set: _set,
    frozenset: _set,
    dict: _dict,
    types.MappingProxyType: _dict,
    type({}.keys()): _sequence,
    type({}.values()): _sequence,
    type({}.items()): _sequence,
}

_SCALARS = frozenset({_same, _int, _float, _str})

# By the module of a class, for modules that need not be imported here.
_STANDARD = {
    ("datetime", "datetime"): _iso,
    ("datetime", "date"): _iso,
    ("datetime", "time"): _iso,
    ("datetime", "timedelta"): _seconds,
    ("decimal", "Decimal"): _text,
    ("fractions", "Fraction"): _text,
    ("uuid", "UUID"): _text,
    ("enum", "Enum"): _enum,
    ("collections", "deque"): _sequence,
    ("collections", "UserList"): _sequence,
    ("collections", "UserDict"): _dict,
    ("collections", "ChainMap"): _dict,
    ("array", "array"): _sequence,
    ("pathlib", "PurePath"): _text,
    ("pathlib._local", "PurePath"): _text,
    ("ipaddress", "_BaseAddress"): _text,
    ("ipaddress", "_BaseNetwork"): _text,
}

# Packages with a module of their own here, loaded when one of their values is met.
_PACKAGES = {
    "numpy": "encode_numpy",
    "pandas": "encode_pandas",
    "scipy": "encode_numpy",
    "torch": "encode_numpy",
}


def _in_package(kind):
    """Returns the form of a class by the module it comes from, or None."""
    module = kind.__module__
    if type(module) is not str:
        return None
    form = _STANDARD.get((module, kind.__name__))
    if form is not None:
        return form
    package = module.partition(".")[0]
    if package not in _PACKAGES or package not in sys.modules:
        return None
    forms = __import__(f"{__package__}.{_PACKAGES[package]}", fromlist=["find"])
    return forms.find(kind)


def _by_shape(kind):
    """Returns the form of a class that says itself what its fields are, or None."""
    if isinstance(getattr(kind, "__dataclass_fields__", None), dict):
        return _dataclass
    if hasattr(kind, "__attrs_attrs__"):
        return _attrs
    if callable(getattr(kind, "model_dump", None)):
        return _model
    if hasattr(kind, "__fields__") and callable(getattr(kind, "dict", None)):
        return _old_model
    if issubclass(kind, _collections_abc.Mapping):
        return _dict
    return None
