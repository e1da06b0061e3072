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


def understudy_run(code, fails=False, after=None):
    """Runs a cell that awaits, that failed in the session, or that may be IPython's dialect.

    fails says that the script goes on when the cell fails, as the session did; after is the
    number of seconds after which it is interrupted, as it was there.
    """
    import _thread
    import ast
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

    def compiled(text):
        return builtins.compile(text, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    linecache.cache[name] = (builtins.len(code), None, code.splitlines(True), name)
    timer = threading.Timer(after or 0, interrupt)
    try:
        try:
            body = compiled(code)
        except builtins.SyntaxError:
            body = compiled(understudy_ipython().transform_cell(code))
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
