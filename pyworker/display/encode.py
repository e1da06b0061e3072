"""Python values as JSON: what has a defined form gets it (encode_forms.py), the rest its repr.

A container that is too large for the limit is cut, and says how many elements
were left out; a cycle ends in "<cycle>".
"""

from collections import namedtuple

from .encode_forms import find

DEPTH_LIMIT = 100
NOTES_LIMIT = 50
NAMED_PLACES = 10  # places of one kind that notes name; the others are counted
REPR_LIMIT = 100_000  # characters of a result that is a repr
NESTED_REPR_LIMIT = 1000  # characters of a repr inside a container
KEY_LIMIT = 1000  # characters

# A value in JSON's terms, whether that is "json" or a "repr", and what a reader should
# know of it.
Encoded = namedtuple("Encoded", "value encoding notes")


def encode(value, limit):
    """Encodes a value in about limit bytes of JSON at most."""
    encoder = Encoder(limit)
    if find(type(value)) is None:
        encoder.remark(f"a {type(value).__name__} has no JSON form: the result is its repr")
        encoder.encoding = "repr"
        form = encoder.text(safe_repr(value, min(limit, REPR_LIMIT)))
    else:
        form = encoder.value(value)
    return Encoded(form, encoder.encoding, encoder.notes())


def safe_repr(value, limit):
    """Returns repr(value) in limit characters, or says why there is none."""
    try:
        text = repr(value)
    except Exception as error:
        raised = type(error).__name__
        try:
            raised += f": {error!s:.200}"
        except Exception:
            pass  # nor has the exception a text
        return f"<{type(value).__name__} object; its __repr__ raised {raised}>"
    return _cut(text, limit)


def _cut(text, limit):
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit} characters left out]"


class Encoder:
    """Encodes one value; it knows the place it is at and the room that is left."""

    def __init__(self, limit):
        self.room = limit  # bytes, as estimated
        self.encoding = "json"
        self._places = {}  # kind of remark -> [places, count]
        self._path = []
        self._open = {}  # the containers we are in, by id

    def value(self, value):
        """Returns value in JSON's terms."""
        form = find(type(value))
        if form is None:
            return self._repr(value, f"has no JSON form (it is of type {type(value).__name__})")
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
            return self._repr(value, f"could not be encoded ({type(error).__name__})")
        finally:
            del self._open[id(value)]

    def _repr(self, value, why):
        self.remark(f"{{}} {why} and became its repr")
        if not self._path:
            self.encoding = "repr"
        return self.text(safe_repr(value, NESTED_REPR_LIMIT))

    def at(self, key, value, *inner):
        """Encodes a value that stands at a key or an index, and further ones in it."""
        depth = len(self._path)
        self._path += (key, *inner)
        try:
            return self.value(value)
        finally:
            del self._path[depth:]

    def while_room(self, values):
        """Yields each (index, value) as long as there is room."""
        self.room -= 2
        for pair in enumerate(values):
            if self.room <= 0:
                return
            self.room -= 2
            yield pair

    def items(self, values, count):
        """Encodes count values as an array, as many as there is room for."""
        result = [self.at(index, value) for index, value in self.while_room(values)]
        if len(result) < count:
            result.append(self._left_out(count - len(result)))
        return result

    def fields(self, pairs):
        """Encodes (key, value) pairs as an object, as many as there is room for."""
        result = {}
        for _, (key, value) in self.while_room(pairs):
            text = self._key(key, result)
            self.room -= len(text) + 4
            result[text] = self.at(key, value)
        if len(result) < len(pairs):
            result["…"] = self._left_out(len(pairs) - len(result))
        return result

    def text(self, text):
        """Encodes a str, cut where there is no room and without lone surrogates."""
        room = max(self.room, 100)
        if len(text) > room:
            self.remark("{} was cut for its length")
            text = _cut(text, room)
        self.room -= len(text)
        return self._without_surrogates(text)

    def remark(self, sentence):
        """Notes something about the present place, "{}" in the sentence."""
        places = self._places.setdefault(sentence, [[], 0])
        places[1] += 1
        parts = (f"[{safe_repr(key, 100)}]" for key in self._path)
        place = "".join(parts) or "the value itself"
        if len(places[0]) < NAMED_PLACES and place not in places[0]:
            places[0].append(place)

    def notes(self):
        """Returns what was noted, the first places of each kind by name."""
        notes = []
        for sentence, (places, count) in self._places.items():
            note = sentence.replace("{}", ", ".join(places), 1)
            more = count - len(places)
            notes.append(f"{note} (and at {more} more places)" if more else note)
        return notes[:NOTES_LIMIT]

    def _left_out(self, count):
        self.remark(f"{{}} was cut: {count} elements were left out")
        return f"<{count} more elements left out>"

    def _without_surrogates(self, text):
        if text.isascii():
            return text
        joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if joined != text:
            self.remark("lone surrogates in the text at {} were replaced")
        return joined

    def _key(self, key, taken):
        text = self._without_surrogates(_key_text(key)[:KEY_LIMIT])
        if text in taken:
            self._path.append(key)
            self.remark("the key at {} looks like another one as text: its type was added")
            self._path.pop()
        while text in taken:
            text += f" ({type(key).__name__})"
        return text


def _key_text(key):
    try:
        key = getattr(key, "_value_", key)  # an Enum's
        if isinstance(key, str):
            return str.__str__(key)
        return key.isoformat() if hasattr(key, "isoformat") else str(key)
    except Exception as error:
        return f"<{type(key).__name__} object; its __str__ raised {type(error).__name__}>"
