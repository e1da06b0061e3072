"""Commands of a POSIX shell, as far as they can be told apart without running them.

Only what sh and bash read alike, whatever the environment holds, is taken apart.
Anything else, a substitution above all, is unclear: whoever judges a command
must then refuse it.
"""

import os
import re

# What bash alone understands is left out: to others "a &> f b" is "a & > f b", and
# ">&" is followed by a descriptor.
_OPERATORS = re.compile(r"&&|\|\||;(?!;)|&(?!>)|\|(?!&)|\n")
_REDIRECTION = re.compile(r"[0-9]*(?:>>|>\||[<>]&(?=[ \t]*[0-9-])|<>|>(?!&)|<(?![<(&]))")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9?#$!@*-])")
_PLAIN = re.compile(r"[^\s\\'\"$`;&|<>()#{}*?\[\]~!\0]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_WORDS = """
if then elif else fi for while until do done case esac in function select time coproc
! { } [[ ]]"""
_RESERVED = frozenset(_WORDS.split())


class Unclear(ValueError):
    """A command line can't be taken apart; the message says why."""


class Command(list):
    """The argv of a simple command; at is the offset of its first word in the text."""

    at = 0


def commands(text):
    """Returns the Command of each simple command of a shell's command line, in order.

    Redirections are left out. Values of variables stay as they are written. It is
    None when the first words can't be told for sure: with substitutions, compound
    commands, assignments before a command, on Windows.
    """
    if os.name == "nt":
        return None
    try:
        return _Reader(text).read()
    except Unclear:
        return None


class _Reader:
    """Reads one command line."""

    def __init__(self, text):
        self._text = text
        self._at = 0
        self._commands = []
        self._words = Command()  # the present one
        self._redirected = False  # the next word is a redirection's

    def read(self):
        """Returns the list of commands."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t":
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = end if end >= 0 else len(text)
            elif redirection := _REDIRECTION.match(text, self._at):
                self._at = redirection.end()
                self._check_redirected()
                self._redirected = True
            elif operator := _OPERATORS.match(text, self._at):
                self._at = operator.end()
                self._end_command()
            else:
                start = self._at
                self._add(start, *self._read_word())
        self._end_command()
        return self._commands

    def _end_command(self):
        self._check_redirected()
        if self._words:
            self._commands.append(self._words)
        self._words = Command()

    def _check_redirected(self):
        if self._redirected:
            raise Unclear("a redirection has no file")

    def _add(self, at, word, is_literal):
        if self._redirected:
            self._redirected = False
            return
        if not self._words:
            if not word or (not is_literal and word != "["):
                raise Unclear("the command's name is only known when it runs")
            if word in _RESERVED or _ASSIGNMENT.match(word):
                raise Unclear("not a simple command")
            self._words.at = at
        self._words.append(word)

    def _read_word(self):
        """Returns a word, and whether that is what the shell will make of it."""
        text, start, pieces, is_literal = self._text, self._at, [], True
        while self._at < len(text):
            char, whole = text[self._at], True
            if plain := _PLAIN.match(text, self._at):
                pieces.append(plain.group())
                self._at = plain.end()
            elif char in "'\"\\":
                piece, whole = self._read_quoted(char)
                pieces.append(piece)
            elif char == "$":
                pieces.append(self._read_variable())
                whole = False
            elif char in "{}*?[]~!#":  # of patterns; # begins no comment within a word
                pieces.append(char)
                whole = char == "#"
                self._at += 1
            elif char in " \t\n;&|<>" and self._at > start:
                break
            else:  # parentheses, backquotes, blanks of other kinds, ;; and <<
                raise Unclear(f"{char!r} is more than simple commands")
            is_literal = is_literal and whole
        return "".join(pieces), is_literal

    def _read_variable(self):
        variable = _VARIABLE.match(self._text, self._at)
        if variable is None:
            raise Unclear("$ stands for more than a variable")
        self._at = variable.end()
        return variable.group()

    def _read_quoted(self, quote):
        """Returns what is quoted, and whether it is what it will be."""
        if quote == "\\":
            return self._read_escaped(), True
        if quote == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise Unclear("a quote has no end")
            piece = self._text[self._at + 1 : end]
            self._at = end + 1
            return piece, True
        return self._read_double()

    def _read_escaped(self):
        char = self._text[self._at + 1 : self._at + 2]
        if not char:
            raise Unclear("a backslash stands at the end")
        self._at += 2
        return "" if char == "\n" else char

    def _read_double(self):
        text, pieces, is_literal = self._text, [], True
        self._at += 1
        while self._at < len(text):
            char = text[self._at]
            if char == '"':
                self._at += 1
                return "".join(pieces), is_literal
            if char == "`":
                raise Unclear("a command stands in the place of its output")
            if char == "$" and text[self._at + 1 : self._at + 2] not in ("", " ", '"'):
                pieces.append(self._read_variable())
                is_literal = False
            elif char == "\\" and text[self._at + 1 : self._at + 2] in tuple('$`"\\\n'):
                pieces.append(self._read_escaped())
            else:
                pieces.append(char)
                self._at += 1
        raise Unclear("a quote has no end")
