def understudy_run(code, fails=False, after=None):
    """Runs a cell that may await at top level, or that failed in the session.

    fails says that it did, so that the script goes on; after is the number of
    seconds after which it is interrupted, as it was there.
    """
    import _thread
    import ast
    import asyncio
    import builtins  # whose names the session may have given to something else
    import inspect
    import linecache
    import signal
    import sys
    import threading

    def interrupt():
        if builtins.hasattr(signal, "pthread_kill"):  # which also ends a sleep
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        else:
            _thread.interrupt_main()

    names = builtins.globals()
    name = f"<cell {builtins.id(code)}>"
    linecache.cache[name] = (builtins.len(code), None, code.splitlines(True), name)
    timer = threading.Timer(after, interrupt) if after else None
    try:
        if timer:
            if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background
                signal.signal(signal.SIGINT, signal.default_int_handler)
            timer.start()
        try:
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            coroutine = builtins.eval(builtins.compile(code, name, "exec", flags), names)
            if inspect.iscoroutine(coroutine):
                loop = names.get("_understudy_loop") or asyncio.new_event_loop()
                names["_understudy_loop"] = loop
                asyncio.set_event_loop(loop)
                loop.run_until_complete(coroutine)
        finally:
            if timer:
                timer.cancel()
    except builtins.BaseException as error:
        if not fails or (builtins.isinstance(error, builtins.KeyboardInterrupt) and not after):
            raise
        kind = builtins.type(error).__name__
        sys.stderr.write(f"as in the session: {kind}: {error}\n")
