def understudy_run(code, fails=False, after=None):
    """Runs a cell that is more than plain Python, or that failed in the session.

    Magics and commands of the shell are IPython's, which must be installed for them. fails
    says that the script goes on when the cell fails, as the session did; after is the number
    of seconds after which it is interrupted, as it was there.
    """
    import _thread
    import ast
    import asyncio
    import builtins  # whose names the session may have given to something else
    import inspect
    import linecache
    import os
    import re
    import signal
    import sys
    import threading

    names = builtins.globals()
    name = f"<cell {builtins.id(code)}>"
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

    def ipython():
        """Returns the shell whose magics are run."""
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        if not InteractiveShell.initialized():
            main, config = sys.modules[names["__name__"]], Config()
            config.HistoryManager.enabled = False
            config.InteractiveShell.colors = "NoColor"
            shell = InteractiveShell.instance(user_module=main, user_ns=names, config=config)
            shell.system = shell.system_raw
            os.environ["PAGER"] = "cat"
            idle = ("config", "debug", "gui", "matplotlib", "pdb", "reset")  # in a script
            shell.magics_manager.magics["line"].update(builtins.dict.fromkeys(idle, lambda _: None))
        return InteractiveShell.instance()

    def compiled():
        """Reads the cell as Python, else as sessions do: by IPython, with small repairs."""
        if "get_ipython" in code:
            ipython()
        try:
            return builtins.compile(code, name, "exec", flags)
        except builtins.SyntaxError as error:
            wrong = error
        text = code
        if text.lstrip()[:3] in ("```", "~~~"):
            text = "".join(re.findall(r"(?ms)^[ \t]*(?:```|~~~).*?\n(.*?)^[ \t]*(?:```|~~~)", text))
        install = r"(?m)^([ \t]*)(?:python3? -m )?(pip|conda|mamba|uv)3?(?=[ \t].*install\b)"
        text = ipython().transform_cell(re.sub(install, r"\1%\2", text))
        try:
            return builtins.compile(text, name, "exec", flags)
        except builtins.SyntaxError:
            raise wrong from None

    def interrupt():
        if builtins.hasattr(signal, "pthread_kill"):  # which also ends a sleep
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            _thread.interrupt_main()

    linecache.cache[name] = (builtins.len(code), None, code.splitlines(True), name)
    timer = threading.Timer(after or 0, interrupt)
    try:
        body = compiled()
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
