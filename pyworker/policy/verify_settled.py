"""Where in the code of a cell a name is certainly bound at top level."""

import ast


def spans(tree, name):
    """Returns the (start, end) where it is, in order and apart from each other."""
    merged = []
    for start, end in sorted(_spans(tree, name)):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _spans(tree, name):
    """Yields (start, end) of the code before which a name is bound at top level."""
    todo = [(tree.body, True)]
    while todo:
        body, is_top = todo.pop()
        if not body:
            continue
        end = (10**9, 0) if is_top else (body[-1].end_lineno, body[-1].end_col_offset)
        for statement in body:
            if name in _certain_names(statement):
                yield (statement.end_lineno, statement.end_col_offset), end
            if name in _names_within(statement) and statement.body:
                first, last = statement.body[0], statement.body[-1]
                yield (
                    (first.lineno, first.col_offset),
                    (last.end_lineno, last.end_col_offset),
                )
            if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                for field in ("body", "orelse", "finalbody"):
                    todo.append((getattr(statement, field, None), False))
                for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
                    todo.append((part.body, False))


def _certain_names(statement):
    if isinstance(statement, ast.Assign):
        return _targets(statement.targets)
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return _targets([statement.target])
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return (statement.name,)
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in statement.names]
    return ()


def _names_within(statement):
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return _targets([statement.target])
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return _targets([item.optional_vars for item in statement.items])
    return ()


def _targets(nodes):
    names, todo = [], list(nodes)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, (ast.Tuple, ast.List)):
            todo += node.elts
        elif isinstance(node, ast.Starred):
            todo.append(node.value)
    return names
