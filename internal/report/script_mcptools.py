def understudy_mcptools(kept):
    """Is mcptools here: calls of other servers' tools give what they gave in the session.

    kept has a line of JSON for each call, in their order. One that was made again gets the
    next of the same arguments, the last when there are no more.
    """
    import builtins  # whose names the session may have given to something else
    import json
    import re
    import sys
    import types

    class ToolError(Exception):
        """A call failed in the session, or nothing is kept of such a one."""

    def plain(name):
        """Drops what differs between the names of tools and of Python: class_, per-page."""
        return re.sub(r"[\W_]", "", name).lower()

    def written(value):
        return json.dumps(value, sort_keys=True, default=builtins.str)

    def named(arguments):
        return {plain(k): written(v) for k, v in arguments.items() if v is not None}

    def fits(call, values, names):
        if call["arguments"] is None:  # too long to be kept
            return True
        kept_names = named(call["arguments"])
        if not names.items() <= kept_names.items():
            return False
        return builtins.sorted([*values, *names.values()]) == builtins.sorted(kept_names.values())

    def answer(server, tool, values, names):
        values, names = [written(v) for v in values], named(names)
        found = [c for c in calls if c["place"] == (plain(server), plain(tool))]
        found = [c for c in found if fits(c, values, names)]
        if not found:
            said = f"the session did not call {server}.{tool} with these arguments"
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
            server = self.__name__.partition(".")[2]
            return lambda *values, **names: answer(server, tool, values, names)

    def server_of(name):
        if name.startswith("__"):
            raise builtins.AttributeError(name)
        return sys.modules.setdefault(f"mcptools.{name}", Server(f"mcptools.{name}"))

    calls = [json.loads(line) for line in kept.split("\n") if line]
    for call in calls:
        call.update(place=(plain(call["server"]), plain(call["tool"])), used=False)
        call["value"] = json.dumps(call.get("value"))  # each call gets one of its own
    package = sys.modules["mcptools"] = types.ModuleType("mcptools")
    package.__path__, package.__getattr__, package.ToolError = [], server_of, ToolError
    package.servers = lambda: builtins.sorted({call["server"] for call in calls})
    package.search = lambda *_, **__: []
    for name in package.servers():
        server_of(re.sub(r"\W", "_", name))
