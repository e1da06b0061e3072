def understudy_mcptools(kept, conversion):
    """Stands in for mcptools: a call gives what it gave in the session.

    kept has a line of JSON for each call, in their order. A call gets the next of the same
    arguments, and the last one where there are no more. conversion is the source of plain(),
    by which the session wrote arguments as JSON.
    """
    import builtins  # whose names the session may have given to something else
    import json
    import re
    import sys
    import types

    class ToolError(Exception):
        """A call failed in the session, or nothing is kept of such a one."""

        def __init__(self, message, server="", tool="", kind="error"):
            builtins.super(ToolError, self).__init__(message)
            self.server, self.tool, self.kind, self.content = server, tool, kind, ()

    def named_as_python(name):
        """Drops what differs between names of tools and of Python, as class_ and per-page."""
        return re.sub(r"[\W_]", "", name).lower()

    def number(text):
        """Reads 2.0 as 2: the session sent it so where an integer was wanted."""
        value = builtins.float(text)
        return builtins.int(value) if value.is_integer() else value

    def written(value):
        text = json.dumps(value, default=conversion["plain"])
        return json.dumps(json.loads(text, parse_float=number), sort_keys=True)

    def named(arguments):
        return {named_as_python(k): written(v) for k, v in arguments.items() if v is not None}

    def fits(call, values, names):
        if call["arguments"] is None:  # too long to be kept
            return True
        theirs, ours = named(call["arguments"]), builtins.sorted([*values, *names.values()])
        return names.items() <= theirs.items() and ours == builtins.sorted(theirs.values())

    def answer(module, tool, values, names):
        place = named_as_python(module + tool)
        values, names = [written(v) for v in values if v is not None], named(names)
        found = [c for c in calls if c["place"] == place and fits(c, values, names)]
        if not found:
            said = f"the session did not call {module}.{tool} with these arguments"
            said += ", and the other server is not asked here"
            raise ToolError(said, module, tool, "unavailable")
        call = ([c for c in found if not c["used"]] or found[-1:])[0]
        call["used"] = True
        if call.get("error"):
            raise ToolError(call["error"], call["server"], call["tool"], call["kind"])
        return json.loads(call["value"])

    def outside(name):
        if name.startswith("__"):
            raise builtins.AttributeError(name)

    class Server(types.ModuleType):
        def __getattr__(self, tool):
            outside(tool)
            package, _, module = self.__name__.rpartition(".")

            def call(*values, **names):
                return answer(module, tool, values, names)

            async def call_later(*values, **names):
                return answer(module, tool, values, names)

            return call if package == "mcptools" else call_later

    def package(name):
        def server_of(module):
            outside(module)
            return sys.modules.setdefault(f"{name}.{module}", Server(f"{name}.{module}"))

        made = sys.modules[name] = types.ModuleType(name)
        made.__path__, made.__getattr__ = [], server_of
        return made

    source, conversion = conversion, {}
    builtins.exec(source, conversion)
    ToolError.__module__, ToolError.__qualname__ = "mcptools", "ToolError"
    servers, calls = {}, [json.loads(line) for line in kept.split("\n") if line]
    top, twins = package("mcptools"), package("mcptools.aio")
    for call in calls:
        call.update(place=named_as_python(call["server"] + call["tool"]), used=False)
        call["value"] = json.dumps(call.get("value"))  # each call gets one of its own
        module = re.sub(r"\W", "_", call["server"])
        top.__getattr__(module), twins.__getattr__(module)
        server = {"name": call["server"], "module": module, "state": "ready", "purpose": ""}
        server["tools"] = builtins.len({c["tool"] for c in calls if c["server"] == call["server"]})
        servers[call["server"]] = types.SimpleNamespace(**server, problem="")
    top.aio, top.ToolError = twins, ToolError
    top.servers = lambda: [*servers.values()]
    top.search = lambda *_, **__: []
