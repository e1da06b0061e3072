# Written by understudy, so that this notebook prints and draws as the session did: the
# value of every line is printed, ";" at its end silences it, and a shell command prints
# what it prints in a terminal. The cells below run without this one too, and then show
# their values as Jupyter does.
def _understudy_show():
    """Gives the function that shows the value of a line."""
    import sys

    from IPython import get_ipython
    from IPython.display import display

    plain = get_ipython().display_formatter.formatters["text/plain"]

    def is_drawn(value, depth=3):
        """Says whether a value is what a plotting function gives back."""
        kind = type(value)
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            value = list(value.flat[:1]) if value.dtype.hasobject else []
        elif kind is dict and depth:
            filled = [item for item in value.values() if type(item) is not list or item]
            return bool(filled) and all(is_drawn(item, 1) for item in filled)
        if isinstance(value, (list, tuple)) and depth:
            return any(is_drawn(item, depth - 1) for item in value[:20])
        drawing = ("matplotlib.artist", "Artist"), ("matplotlib.container", "Container")
        drawing = (getattr(sys.modules.get(module), name, ()) for module, name in drawing)
        drawn = isinstance(value, tuple(drawing))
        return drawn or kind.__module__ in ("seaborn.axisgrid", "seaborn._core.plot")

    def show(value):
        if value is None or is_drawn(value):
            return
        plotly = sys.modules.get("plotly.basedatatypes")
        plotly = plotly is not None and isinstance(value, plotly.BaseFigure)
        if plotly or any(hasattr(type(value), f"_repr_{kind}_") for kind in ("png", "svg")):
            display(value)
        if not plotly:  # whose text fills pages
            print(plain(value))

    return show


def _understudy_echo(echo):
    """Has the values of top-level expressions shown."""
    import ast
    import builtins

    from IPython import get_ipython

    shell = get_ipython()
    source = [""]  # of the present cell, as Python
    fresh = []  # holds something while a cell has not been read yet
    name = "__understudy_echo__"

    class Echo:
        def visit(self, tree):
            if not fresh:  # it is what %time runs, whose value is that of the magic
                return tree
            fresh.clear()
            lines = source[0].encode().splitlines()
            try:
                flags = shell.compile.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                compile(tree, "<cell>", "exec", flags, dont_inherit=True)
            except SyntaxError as error:  # before anything of the cell has run
                builtins.__understudy_error__ = error
                tree.body = ast.parse("raise __understudy_error__").body
            for number, part in enumerate(tree.body):
                last = number == len(tree.body) - 1
                if isinstance(part, ast.Expr) and (echo == "all" or (echo == "last" and last)):
                    rest = lines[part.end_lineno - 1][part.end_col_offset :].strip()
                    if rest[:1] != b";" or rest[1:].strip()[:1] not in (b"", b"#"):
                        function = ast.Name(name, ast.Load())
                        call = ast.Call(function, [part.value], [])
                        tree.body[number] = ast.copy_location(ast.Expr(call), part)
            return ast.fix_missing_locations(tree)

    def note_source(lines):
        source[0] = "".join(lines)
        return lines

    setattr(builtins, name, _understudy_show())
    shell.events.register("pre_run_cell", lambda *_: fresh.append(True))
    shell.ast_node_interactivity = "none"
    shell.ast_transformers.append(Echo())
    shell.input_transformers_post.append(note_source)


def _understudy_commands():
    """Has shell commands print what they print in a terminal."""
    import shlex
    import subprocess
    import sys
    import threading

    from IPython import get_ipython
    from IPython.utils.text import SList

    shell = get_ipython()

    def run(command, catch=False):
        """Runs a command, prints what it prints as it comes, and returns its lines."""
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:

            def pass_on(pipe, stream):
                for line in pipe:
                    stream.write(line.decode("utf-8", "replace"))

            errors = threading.Thread(target=pass_on, args=(process.stderr, sys.stderr))
            errors.start()
            if catch:
                printed = process.stdout.read().decode("utf-8", "replace").splitlines()
            else:
                printed = pass_on(process.stdout, sys.stdout)
            errors.join()
        shell.user_ns["_exit_code"] = process.returncode
        return printed

    def bash(command, catch=False):
        return run(["/bin/bash", "-c", "--", command], catch)

    def filled(command, *_, **__):
        return bash(shell.var_expand(command, depth=1))

    def captured(command, *_, **__):
        return SList(bash(shell.var_expand(command, depth=1), catch=True))

    def pip(line):
        quietly = ["--disable-pip-version-check", "--no-input"]
        run([sys.executable, "-m", "pip", *quietly, *shlex.split(line)])

    if sys.platform != "win32":
        shell.system, shell.getoutput = filled, captured
        shell.register_magic_function(lambda _, cell: bash(cell), "cell", "bash")
        shell.register_magic_function(pip, "line", "pip")


def _understudy(echo, warn, numbers):
    """Sets all of it, and names of cells, input(), exit(), warnings and libraries."""
    import builtins
    import contextlib
    import warnings

    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()

    def file_name(raw, code, count):
        """Names a cell as messages of the session do. This cell is the first one."""
        return f"<cell {numbers[count - 2] if 2 <= count < len(numbers) + 2 else count}>"

    def raw_input(prompt=""):
        try:
            return ask(prompt)
        except NotImplementedError:  # nobody is there to answer
            print(prompt, end="")
            raise EOFError("input() got no answer") from None

    _understudy_echo(echo)
    _understudy_commands()
    if not hasattr(builtins, "artifact"):
        builtins.artifact = lambda value, *_, **__: display(value)
    shell.compile.get_code_name = file_name
    for exiting in ("exit", "quit"):
        shell.user_ns.pop(exiting, None)  # which end the kernel
        shell.builtin_trap.auto_builtins.pop(exiting, None)
    warnings.filterwarnings("ignore", "To exit: use 'exit'")
    if not warn:
        warnings.simplefilter("ignore")
    if hasattr(shell, "kernel"):
        ask, shell.kernel.raw_input = shell.kernel.raw_input, raw_input
    with contextlib.suppress(ImportError):
        import pandas

        pandas.set_option("display.width", 200)
    with contextlib.suppress(ImportError):
        import matplotlib

        matplotlib.use = lambda *_, **__: None  # what draws for the notebook stays


_understudy(echo="all", warn=True, numbers=[])
del _understudy, _understudy_commands, _understudy_echo, _understudy_show
