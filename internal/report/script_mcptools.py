def understudy_mcptools(kept):
    """Stands in for mcptools: a call gives what it gave in the session.

    kept has a line of JSON for each call, in their order. A call gets the next of the same
    arguments, and the last one where there are no more.
    """
    import builtins  # whose names the session may have given to something else
    import json
    import re
    import sys
    import types

    class ToolError(Exception):
        """A call failed in the session, or nothing is kept of such a one."""

    def plain(name):
        """Drops what differs between names of tools and of Python, as class_ and per-page."""
        return re.sub(r"[\W_]", "", name).lower()

    def written(value):
        return json.dumps(value, sort_keys=True, default=builtins.str)

    def named(arguments):
        return {plain(k): written(v) for k, v in arguments.items() if v is not None}

    def fits(call, values, names):
        if call["arguments"] is None:  # too long to be kept
            return True
        theirs, ours = named(call["arguments"]), builtins.sorted([*values, *names.values()])
        return names.items() <= theirs.items() and ours == builtins.sorted(theirs.values())

    def answer(place, values, names):
        values, names = [written(v) for v in values], named(names)
        found = [c for c in calls if c["place"] == plain(place) and fits(c, values, names)]
        if not found:
            said = f"the session did not call {place} with these arguments"
            raise ToolError(said + ", and the other server is not asked here")
        call = ([c for c in found if not c["used"]] or found[-1:])[0]
        call["used"] = True
        if call.get("error"):
            raise ToolError(call["error"])
        return json.loads(call["value"])

    class Server(types.ModuleType):
        def __getattr__(self, tool):
            if tool.startswith("__"):
                raise builtins.AttributeError(tool)
            place = f"{self.__name__.partition('.')[2]}.{tool}"
            return lambda *values, **names: answer(place, values, names)

    def server_of(name):
        if name.startswith("__"):
            raise builtins.AttributeError(name)
        return sys.modules.setdefault(f"mcptools.{name}", Server(f"mcptools.{name}"))

    servers, calls = {}, [json.loads(line) for line in kept.split("\n") if line]
    for call in calls:
        call.update(place=plain(call["server"] + call["tool"]), used=False)
        call["value"] = json.dumps(call.get("value"))  # each call gets one of its own
        module = server_of(re.sub(r"\W", "_", call["server"])).__name__.partition(".")[2]
        server = {"name": call["server"], "module": module, "state": "ready", "purpose": ""}
        servers[call["server"]] = types.SimpleNamespace(**server)
    package = sys.modules["mcptools"] = types.ModuleType("mcptools")
    package.__path__, package.__getattr__, package.ToolError = [], server_of, ToolError
    package.servers = lambda: [*servers.values()]
    package.search = lambda *_, **__: []
