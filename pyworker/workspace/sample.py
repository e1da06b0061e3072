"""What is read of a text: a small one whole, of a large one parts at even distances."""

import bz2
import gzip
import zlib

from .words import NotSaid, count, what_is_wrong

_HEAD = 1 << 20  # bytes of a large file's beginning
_BLOCK = 128 << 10  # of each other block
_BLOCKS = 24


class Sample:
    """Blocks of a text. The first is its beginning; others may begin within a line.

    whole: the one block is all there is; size: bytes of the text as it is stored, but not
    compressed, which may be an estimate; wide: stored bytes for a character; encoding: ""
    for UTF-8.
    """

    def __init__(self, file, name, size, room):
        self.encoding = ""
        packed = name.lower().rpartition(".")[2]
        if packed in ("gz", "bz2"):
            raw = [self._unpack(file, packed, size, min(room, 4 * _HEAD))]
        elif size <= room:
            self.whole, self.size, raw = True, size, [file.read(size)]
        else:
            self.whole, self.size, raw = False, size, _parts(file, size, room)
        if not raw[0]:
            raise NotSaid("empty")
        stored = sum(map(len, raw))
        self.blocks = self._decode(raw)
        self.wide = stored / max(1, sum(map(len, self.blocks)))

    def is_binary(self):
        """Reports whether the text is none."""
        return "\0" in self.blocks[0][:8192]

    def refuse_binary(self):
        """Raises NotSaid if the text is none; NULs further on are left out."""
        if self.is_binary():
            raise NotSaid("not a text")
        self.blocks = [block.replace("\0", "") for block in self.blocks]

    def _unpack(self, file, packed, size, most):
        head = b""
        try:
            with gzip.open(file) if packed == "gz" else bz2.open(file) as plain:
                while len(head) <= most and (more := plain.read(64 << 10)):
                    head += more
                self.whole = len(head) <= most
        except (OSError, EOFError, zlib.error) as error:
            if not head:
                raise NotSaid(
                    f"can't be unpacked: {what_is_wrong(error).rpartition(': ')[2]}"
                ) from None
            self.whole = False
        self.size = len(head) if self.whole else len(head[:most]) * size / max(1, file.tell())
        return head[:most]

    def _decode(self, raw):
        wide = _wide(raw[0])
        if wide:
            self.encoding = wide[:6] if raw[0][:2] in (b"\xff\xfe", b"\xfe\xff") else wide
            return [block.decode(wide, "replace").lstrip("\ufeff") for block in raw]
        if raw[0].startswith(b"\xef\xbb\xbf"):
            self.encoding = "utf-8-sig"
        texts = [_trim(block).decode("utf-8-sig", "replace") for block in raw]
        broken = sum(text.count("\ufffd") for text in texts)
        good = sum(len(text) - len(text.encode("ascii", "ignore")) for text in texts) - broken
        if broken > good and not self.encoding:
            self.encoding = "cp1252"
            return [block.decode("cp1252", "replace") for block in raw]
        if broken:
            self.encoding = f"utf-8 with {count(broken, 'broken byte')}"
        return texts


def _parts(file, size, room):
    """Reads parts of a large file. Offsets are multiples of 4: no unit of UTF-16 is cut."""
    head = file.read(min(_HEAD, room) & ~3)
    n = min(_BLOCKS, (room - len(head)) // _BLOCK, (size - len(head)) // _BLOCK)
    parts = [head]
    for i in range(n):  # the last one ends with the file
        step = (size - _BLOCK - len(head)) * i // (n - 1) if n > 1 else size - _BLOCK - len(head)
        file.seek((len(head) + step) & ~3)
        parts.append(file.read(_BLOCK))
    return parts


def _trim(block):
    """Leaves out the parts of characters at both ends of a block."""
    first = next((i for i, c in enumerate(block[:4]) if not 0x80 <= c < 0xC0), 4)
    block = block[first:] if first < 4 else block
    for back in range(1, min(4, len(block)) + 1):
        c = block[-back]
        if c >= 0xC0:  # begins a character of so many bytes
            return block[:-back] if back < 2 + (c >= 0xE0) + (c >= 0xF0) else block
        if c < 0x80:
            break
    return block


def _wide(head):
    """Recognizes UTF-16 by its mark, or by text of which every second byte is zero."""
    marks = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
    if head[:2] in marks:
        return marks[head[:2]]
    head = head[:4096]
    even, odd, half = head[::2].count(0), head[1::2].count(0), len(head) // 2
    if half >= 4 and odd > half * 0.7 and even * 20 <= half:
        return "utf-16-le"
    return "utf-16-be" if half >= 4 and even > half * 0.7 and odd * 20 <= half else ""
