def understudy_ipython():
    """Returns IPython's shell over the script's variables; all of those stay as they are."""
    import builtins  # whose names the session may have given to something else
    import os
    import sys

    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    if not InteractiveShell.initialized():
        names = builtins.globals()
        kept, config = builtins.dict(names), Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "NoColor"
        main = sys.modules[names["__name__"]]
        shell = InteractiveShell.instance(user_module=main, user_ns=names, config=config)
        names.update(kept)  # In, Out, _, exit and quit may be the session's own
        shell.system = shell.system_raw
        os.environ["PAGER"] = "cat"
        idle = ("config", "debug", "gui", "matplotlib", "pdb", "reset")  # in a script
        shell.magics_manager.magics["line"].update(builtins.dict.fromkeys(idle, lambda _: None))
    return InteractiveShell.instance()


def understudy_repairs(text):
    """Yields a cell as it is, and then with one more of the repairs that sessions make."""
    import builtins
    import json
    import re

    yield text
    fence = r"^[ \t]*(?:```|~~~)"
    if re.search("(?m)" + fence, text):
        text = "".join(re.findall(rf"(?ms){fence}.*?\n(.*?)(?:{fence}|\Z)", text))
        yield text
    entities = ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")
    for entity, character in entities:
        text = text.replace(entity, character)
    yield text
    if "\n" not in text.strip() and "\\" in text:  # \n stands for the end of a line
        try:
            text = json.loads(f'"{text.strip()}"', strict=False)
        except builtins.ValueError:
            escapes = {r"\n": "\n", r"\r": "\n", r"\r\n": "\n", r"\t": "\t", r"\"": '"', r"\'": "'"}
            escape = r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\\(?:r\\n|[nrt]|["'])"""
            text = re.sub(escape, lambda found: found[1] or escapes[found[0]], text)
        yield text
    install = r"(?m)^([ \t]*)(?:python3? -m )?(pip|conda|mamba|uv)3?(?=[ \t].*install\b)"
    yield re.sub(install, r"\1%\2", text)


def understudy_read(code, name):
    """Reads a cell as sessions do: as Python, as IPython, or as that with small repairs."""
    import ast
    import builtins
    import re

    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    def read(text):
        """Compiles a text, but not one that Python reads and nobody means, as "ls -l"."""
        tree = builtins.compile(text, name, "exec", flags | ast.PyCF_ONLY_AST)
        used = {node.id for node in ast.walk(tree) if builtins.hasattr(node, "id")}
        known = builtins.globals().keys() | builtins.vars(builtins).keys()
        magic = re.match(r"\s*(\w+)(?:[ \t]+[^\s=].*)?\s*\Z", text)
        odd = re.match(r"\s*In \[\d+\]: |[\s\S]*&(?:lt|gt|amp);", text)
        if (magic and magic[1] in used - known) or (odd and used & {"In", "lt", "gt", "amp"}):
            raise builtins.SyntaxError
        return builtins.compile(tree, name, "exec", flags)

    if "get_ipython" in code:
        understudy_ipython()
    try:
        return read(code)
    except builtins.SyntaxError:
        shell = understudy_ipython()
    for text in understudy_repairs(code):
        try:
            return read(shell.transform_cell(text))
        except builtins.Exception:
            continue
    return builtins.compile(code, name, "exec", flags)  # which says what is wrong


def understudy_run(code, fails=False, after=None):
    """Runs a cell that is more than plain Python, or that failed in the session.

    Magics and commands of the shell are IPython's, which must be installed for them. fails
    says that the script goes on when the cell fails, as the session did; after is the number
    of seconds after which it is interrupted, as it was there.
    """
    import _thread
    import asyncio
    import builtins
    import inspect
    import linecache
    import signal
    import sys
    import threading

    names = builtins.globals()
    name = f"<cell {builtins.id(code)}>"

    def interrupt():
        if builtins.hasattr(signal, "pthread_kill"):  # which also ends a sleep
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            _thread.interrupt_main()

    linecache.cache[name] = (builtins.len(code), None, code.splitlines(True), name)
    timer = threading.Timer(after or 0, interrupt)
    try:
        body = understudy_read(code, name)
        if after:
            if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background
                signal.signal(signal.SIGINT, signal.default_int_handler)
            timer.start()
        try:
            coroutine = builtins.eval(body, names)
            if inspect.iscoroutine(coroutine):
                loop = names.get("_understudy_loop") or asyncio.new_event_loop()
                names["_understudy_loop"] = loop
                asyncio.set_event_loop(loop)
                loop.run_until_complete(coroutine)
        finally:
            timer.cancel()
    except builtins.BaseException as error:
        if not fails or (builtins.isinstance(error, builtins.KeyboardInterrupt) and not after):
            raise
        kind = builtins.type(error).__name__
        sys.stderr.write(f"as in the session: {kind}: {error}\n")
