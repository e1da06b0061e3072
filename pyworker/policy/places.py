"""Where violations are, as people count: lines and columns from 1, columns in characters."""

import re

_MOST = 100  # violations that are told one by one
_LONGEST_SOURCE = 200  # characters
_LINE_END = re.compile(r"\r\n|\r|\n")


def lines(text):
    """Returns the lines of a text as Python counts them."""
    return _LINE_END.split(text)


class Places:
    """Collects the violations of a piece of code."""

    def __init__(self, code):
        self._lines = lines(code)
        self._found = set()  # (line, column, rule, message)

    def add(self, line, text, at, verdict):
        """Notes a verdict on what stands at an offset of a text, which begins in a line."""
        line += text.count("\n", 0, at)
        start = text.rfind("\n", 0, at) + 1
        place = self._place(line, text[start:].partition("\n")[0], at - start)
        self._found.add((*place, *verdict[:2]))

    def _line(self, number):
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def _place(self, number, text, at):
        """Returns the line and column; the text may be indented less, or end in another line."""
        bare = text.strip()
        found = self._line(number).find(bare) if bare else -1
        if found >= 0:
            return number, found + at - (len(text) - len(text.lstrip())) + 1
        word, last = (text[at:].split(None, 1) or [""])[0], number
        while (found := self._line(last).find(word)) < 0 and self._line(last)[-1:] == "\\":
            last += 1
        return (last, found + 1) if found >= 0 else (number, at + 1)

    def told(self):
        """Returns the violations as they are told, in order."""
        told = []
        for line, column, rule, message in sorted(self._found)[: _MOST + 1]:
            source = self._line(line).strip()
            if len(source) > _LONGEST_SOURCE:
                source = source[: _LONGEST_SOURCE - 1] + "…"
            names = "line", "column", "source", "rule", "message"
            told.append(dict(zip(names, (line, column, source, rule, message))))
        if len(told) > _MOST:
            told[-1].update(rule="more", message=f"and {len(self._found) - _MOST} more")
        return told
