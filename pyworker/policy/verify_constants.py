"""The texts that an expression can have, where that shows in the code itself."""

import ast

from .verify_tree import CLASS, FUNCTION, MODULE

_MOST_VALUES = 64
_LONGEST = 10_000
_DEEPEST = 40

_METHODS = frozenset(
    ("casefold", "decode", "lower", "removeprefix", "removesuffix", "replace", "strip", "upper")
)


def texts(node, scope, depth=0):
    """Returns the list of texts that an expression can have, or None if that can't be seen."""
    if depth > _DEEPEST:
        return None
    reader = _READERS.get(type(node))
    found = None if reader is None else reader(node, scope, depth + 1)
    if found is None or len(found) > _MOST_VALUES or any(len(text) > _LONGEST for text in found):
        return None
    return found


def prefix(node):
    """Returns how a text begins that is put together, "" if that can't be seen."""
    while type(node) is ast.BinOp and type(node.op) is ast.Add:
        node = node.left
    if type(node) is ast.JoinedStr and node.values:
        node = node.values[0]
    return node.value if type(node) is ast.Constant and type(node.value) is str else ""


def _constant(node, scope, depth):
    if type(node.value) is bytes:
        return [node.value.decode("latin-1")]
    return [node.value] if type(node.value) is str else None


def _sum(node, scope, depth):
    if type(node.op) is ast.Mult:
        return _repeated(node, scope, depth)
    if type(node.op) is not ast.Add:
        return None
    # A long sum is deep to the left only.
    parts = [node.right]
    node = node.left
    while type(node) is ast.BinOp and type(node.op) is ast.Add:
        parts.append(node.right)
        node = node.left
    return _joined([node, *reversed(parts)], scope, depth)


def _repeated(node, scope, depth):
    text, times = node.left, node.right
    if type(text) is ast.Constant and type(text.value) is int:
        text, times = times, text
    if type(times) is not ast.Constant or type(times.value) is not int or times.value > 100:
        return None
    values = texts(text, scope, depth)
    if values is None or any(len(value) > 100 for value in values):
        return None
    return [value * times.value for value in values]


def _joined(nodes, scope, depth):
    values = [""]
    for node in nodes:
        more = texts(node, scope, depth)
        if more is None or len(values) * len(more) > _MOST_VALUES:
            return None
        values = [value + text for value in values for text in more]
    return values


def _fstring(node, scope, depth):
    parts = []
    for value in node.values:
        if type(value) is ast.FormattedValue:
            if value.conversion not in (-1, 115) or value.format_spec is not None:
                return None
            value = value.value
        parts.append(value)
    return _joined(parts, scope, depth)


def _choice(node, scope, depth):
    return _united((node.body, node.orelse), scope, depth)


def _united(nodes, scope, depth):
    values = []
    for node in nodes:
        more = texts(node, scope, depth)
        if more is None:
            return None
        values += more
    return values


def _slice(node, scope, depth):
    values = texts(node.value, scope, depth)
    if values is None:
        return None
    index = node.slice
    try:
        if type(index) is ast.Slice:
            places = [None if x is None else ast.literal_eval(x) for x in _ends(index)]
            return [value[slice(*places)] for value in values]
        return [value[ast.literal_eval(index)] for value in values]
    except (ValueError, TypeError, IndexError, RecursionError, MemoryError):
        return None


def _ends(index):
    return index.lower, index.upper, index.step


def _called(node, scope, depth):
    function = node.func
    if node.keywords:
        return None
    if type(function) is ast.Name:
        return _built(function.id, node.args, scope, depth)
    if type(function) is not ast.Attribute:
        return None
    if function.attr == "join" and len(node.args) == 1:
        return _join(function.value, node.args[0], scope, depth)
    if function.attr not in _METHODS:
        return None
    values = texts(function.value, scope, depth)
    arguments = [texts(argument, scope, depth) for argument in node.args]
    if values is None or any(argument is None or len(argument) != 1 for argument in arguments):
        return None
    if function.attr == "decode":
        return values if not arguments else None
    arguments = [argument[0] for argument in arguments]
    if any(len(text) > 100 for text in (*values, *arguments)):
        return None
    try:
        return [getattr(value, function.attr)(*arguments) for value in values]
    except TypeError:
        return None


def _built(name, arguments, scope, depth):
    if len(arguments) != 1:
        return None
    if name == "str":
        return texts(arguments[0], scope, depth)
    if name == "chr" and type(arguments[0]) is ast.Constant:
        try:
            return [chr(arguments[0].value)]
        except (TypeError, ValueError, OverflowError):
            return None
    return None


def _join(separator, items, scope, depth):
    separators = texts(separator, scope, depth)
    if separators is None or len(separators) != 1:
        return None
    if type(items) in (ast.List, ast.Tuple):
        nodes = []
        for item in items.elts:
            nodes += [separator, item] if nodes else [item]
        return _joined(nodes, scope, depth)
    if type(items) is ast.Call and len(items.args) == 1 and type(items.func) is ast.Name:
        if items.func.id == "reversed":
            values = texts(items.args[0], scope, depth)
            return None if values is None else [separators[0].join(v[::-1]) for v in values]
    values = texts(items, scope, depth)
    return None if values is None else [separators[0].join(value) for value in values]


def _named(node, scope, depth):
    """Follows a name that is bound once, to a constant or by a loop over constants."""
    name, owner = node.id, scope
    while owner.parent is not None and (name not in owner.bound or owner.kind is CLASS):
        owner = owner.parent
    if owner.bound.get(name) != 1:
        return None
    if owner.kind is MODULE and not _runs_at_top_level(scope):
        return None  # it may be another one by the time that the function is called
    if name in owner.values:
        value = owner.values[name]
        return (
            _once(owner, name, [value], scope, depth) if _comes_before(value, node, owner) else None
        )
    loop = owner.loops.get(name)
    if loop is None or type(loop.iter) not in (ast.List, ast.Tuple, ast.Set, ast.Name):
        return None
    if loop.body and not _is_within(node, loop.body):
        return None
    items = loop.iter
    if type(items) is ast.Name:
        items = owner.values.get(items.id) if owner.bound.get(items.id) == 1 else None
        # A list can be changed, a tuple can't.
        if type(items) is not ast.Tuple or not _comes_before(items, node, owner):
            return None
    return _once(owner, name, items.elts, scope, depth)


def _once(owner, name, nodes, scope, depth):
    """Reads what a name is bound to only once: names of names would take for ever."""
    if name not in owner.texts:
        owner.texts[name] = None  # of a name that is bound to itself
        owner.texts[name] = _united(nodes, scope, depth)
    return owner.texts[name]


def _runs_at_top_level(scope):
    while scope.kind not in (MODULE, FUNCTION):
        scope = scope.parent
    return scope.kind is MODULE


def _comes_before(value, node, owner):
    place = value.end_lineno, value.end_col_offset
    return owner.kind is FUNCTION or place <= (node.lineno, node.col_offset)


def _is_within(node, body):
    first, last = body[0], body[-1]
    return (
        (first.lineno, first.col_offset)
        <= (node.lineno, node.col_offset)
        < (
            last.end_lineno,
            last.end_col_offset,
        )
    )


_READERS = {
    ast.BinOp: _sum,
    ast.Call: _called,
    ast.Constant: _constant,
    ast.IfExp: _choice,
    ast.JoinedStr: _fstring,
    ast.Name: _named,
    ast.Subscript: _slice,
}
