"""Other servers' tools, called from code; a thread of the test is the server's half."""

import datetime
import enum
import importlib.util
import pathlib
import socket
import sys
import threading
import unittest

from pyworker import protocol
from pyworker.mcptools import schemas, signatures
from pyworker.mcptools.plain import plain
from pyworker.tests.fork.forker import CopyCase
from pyworker.tests.worker import WorkerCase

SERVER = {"name": "git-hub", "module": "github", "purpose": "code", "state": "ready", "tools": 2}
SEARCH = {
    "name": "search-issues",
    "function": "search_issues",
    "description": "Finds issues.",
    "permission": "allowed",
    "input_schema": {
        "type": "object",
        "properties": {
            "state": {"enum": ["open", "closed"], "default": "open"},
            "query": {"type": "string", "description": "Words."},
            "from": {"type": "integer", "minimum": 1},
            "filter": {"$ref": "#/$defs/F"},
        },
        "required": ["query"],
        "$defs": {
            "F": {
                "type": "object",
                "properties": {"labels": {"type": "array", "items": {"type": "string"}},
                               "inner": {"$ref": "#/$defs/F"}},
                "required": ["labels"],
                "additionalProperties": False,
            }
        },
    },
}  # fmt: skip
ODD = {"name": "odd", "function": "odd", "input_schema": {"$ref": "#"}, "permission": "asks"}


class Server:
    """Answers what comes through a door."""

    def __init__(self, worker):
        self._end, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.tools, self.closed, self.came = [SEARCH, ODD], threading.Event(), threading.Event()
        header = {"type": "equip", "plugins": [], "session_variables": {}, "descriptors": 1}
        data = b"".join(protocol.encode(header))
        socket.send_fds(worker.socket, [data], [theirs.fileno()])
        theirs.close()
        worker.receive()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self):
        self._end.shutdown(socket.SHUT_RD)
        self._thread.join()
        self._end.close()

    def _serve(self):
        while True:
            _, fds, *_ = socket.recv_fds(self._end, 16, 1)
            if not fds:
                return
            threading.Thread(target=self._answer, args=fds).start()

    def _answer(self, fd):
        with socket.socket(fileno=fd) as call:
            decoder = protocol.Decoder()
            while (frame := decoder.next()) is None:
                decoder.feed(call.recv(1 << 16))
            answer, attachments = self.answer(frame[0]), []
            if answer is None:
                self.came.set()
                if call.recv(1) == b"":
                    self.closed.set()
                return
            if type(answer) is tuple:
                answer, attachments = answer
            data = protocol.encode({"type": "tool_answer", "body": answer}, attachments)
            if "refused" in answer:
                data = protocol.encode({"type": "tool_refused", **answer["refused"]})
            call.sendall(b"".join(data))

    def answer(self, request):
        op, arguments = request["op"], request.get("arguments", {})
        if op == "catalog":
            return {"servers": [SERVER]}
        if op == "tools":
            return {"purpose": "code", "instructions": "", "tools": self.tools}
        if op == "search":
            hit = {"module": "github", "function": "odd", "summary": request["name"]}
            return {"tools": [hit], "left_out": 3}
        if op == "read":
            return {"contents": [{"type": "resource", "uri": request["name"], "text": "read"}]}
        if request["name"] == "odd":
            return {"refused": {"kind": "denied", "message": "ask the operator"}}
        return self.call(arguments)

    def call(self, arguments):
        text = [{"type": "text", "text": "failed"}]
        sound = {"type": "audio", "mime_type": "a/b", "attachment": 0}
        return {
            "wait": None,
            "error": {"is_error": True, "content": text},
            "text": {"content": text},
            "nothing": {"content": []},
            "number": {"structured": 7, "content": text},
            "null": {"structured": None, "content": text},
            "both": ({"structured": 7, "content": [*text, sound]}, [b"x"]),
            "link": {"content": [{"type": "resource_link", "uri": "a:b"}]},
            "sound": ({"content": [sound]}, [b"x"]),
        }.get(arguments["query"], {"structured": arguments})


class Mcptools(WorkerCase):
    def setUp(self):
        self.worker = self.start()
        self.server = Server(self.worker)
        self.addCleanup(self.server.close)

    def open(self):
        answer = self.worker.run("import mcptools\nfrom mcptools import github")
        self.assertTrue(answer.ok, answer.done.get("exception"))
        return self.worker

    def test_signature_and_documents(self):
        worker = self.open()
        code = "import inspect, pydoc\nprint(inspect.signature(github.search_issues))"
        shown = worker.run(code).stdout
        state = r"state: Literal\['open', 'closed'\] = 'open', from_:"
        self.assertRegex(shown, rf"^\(query: str, {state}")
        said = worker.run("help(github)").stdout
        self.assertIn("query (str): Words.", said)
        fields = "{'labels': list[str], 'inner': NotRequired[SearchIssuesFilterInner]}"
        self.assertIn(f"SearchIssuesFilter: {fields}", said)
        self.gives(worker, "dir(github)", ["odd", "search_issues"])

    def test_results(self):
        worker = self.open()
        call = "github.search_issues"
        self.gives(worker, f"{call}('x', from_=3)", {"query": "x", "from": 3})
        self.gives(worker, f"{call}('text')", "failed")
        self.gives(worker, f"[{call}(a) for a in ('nothing', 'null', 'number')]", [None, None, 7])
        self.gives(worker, f"[{call}('both')[0], {call}('both')[1].data.hex()]", [7, "78"])
        self.gives(worker, f"[{call}('link').read(), {call}('sound').data.hex()]", ["read", "78"])
        for code, kind in ((f"{call}('error')", "error"), ("github.odd()", "denied")):
            code = f"try: {code}\nexcept mcptools.ToolError as e: print(e.kind, e.server)"
            self.prints(worker, code, f"{kind} git-hub\n")

    def test_arguments_are_checked_before_they_leave(self):
        worker = self.open()
        for arguments, kind, said in (
            ("querry=1", "TypeError", "unexpected argument 'querry'; did you mean 'query'?"),
            ("x=1", "TypeError", "argument 'x'; it takes query, state, from_, filter"),
            ("", "TypeError", "missing 1 required argument: 'query'"),
            ("1", "TypeError", "'query' must be string, not int"),
            ("'x', state='opened'", "ValueError", "did you mean 'open'?"),
            ("'x', from_=0", "ValueError", "at least 1"),
            ("'x', filter={}", "TypeError", "lacks 'labels'"),
            ("'x', filter={'labels': {1}}", "TypeError", "'filter.labels[0]' must be string"),
            ("'x', from_=float('nan')", "ValueError", "which JSON can't hold"),
        ):
            error = self.failing(worker, f"github.search_issues({arguments})")
            self.assertEqual(kind, error["type"], error)
            self.assertIn(said, error["traceback"])

    def test_too_large_arguments(self):
        error = self.failing(self.open(), "github.search_issues('x' * (5 << 20))")
        self.assertIn("4 MiB", error["traceback"])

    def test_names_that_are_not_there(self):
        worker = self.open()
        self.assertIn("'github'?", self.failing(worker, "from mcptools import githb")["traceback"])
        self.assertIn("dir(mcptools.github)", worker.run("from mcptools.github import x").notes[0])
        error = self.failing(worker, "github.serch_issues")
        self.assertIn("did you mean 'search_issues'?", error["traceback"])
        self.server.tools = [*self.server.tools, {**ODD, "function": "later"}]
        self.gives(worker, "github.later.__name__", "later")
        found = "github.odd(**more): w\n… and 3 more\n"
        self.prints(worker, "print(mcptools.search('w'))", found)
        again = "import pickle\nprint(pickle.loads(pickle.dumps(mcptools.search('w')[0])))"
        self.prints(worker, again, "github.odd(**more): w\n")

    def test_threads_a_pool_and_tasks(self):
        worker = self.open()
        code = (
            "import concurrent.futures as f, multiprocessing, asyncio\n"
            "with f.ThreadPoolExecutor(10) as p:\n"
            "    a = [r['query'] for r in p.map(github.search_issues, map(str, range(50)))]\n"
            "with multiprocessing.get_context('fork').Pool(2) as p:\n"
            "    b = [r['query'] for r in p.map(github.search_issues, ['1', '2'])]\n"
            "from mcptools.aio import github as g\n"
            "c = await asyncio.gather(*(g.search_issues(str(i)) for i in range(9)))\n"
            "found = [a == [str(i) for i in range(50)], b, len(c)]"
        )
        self.assertEqual([True, ["1", "2"], 9], worker.run(code, "found").result)

    def test_an_interrupt_and_a_cancel_end_the_wait_and_close_the_socket(self):
        worker = self.open()
        worker.begin("github.search_issues('wait')")
        self.server.came.wait(60)
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
        self.assertTrue(self.server.closed.wait(60))
        self.server.closed.clear()
        code = (
            "import asyncio\nfrom mcptools import aio\n"
            "try: await asyncio.wait_for(aio.github.search_issues('wait'), 0.05)\n"
            "except asyncio.TimeoutError: print('over')"
        )
        self.prints(worker, code, "over\n")
        self.assertTrue(self.server.closed.wait(60))

    def test_reload_and_stubs(self):
        worker = self.open()
        code = "print(open(mcptools.stubs() + '/mcptools/github.pyi').read())"
        written = worker.run(code).stdout
        compile(written, "github.pyi", "exec")
        self.assertIn("'inner': NotRequired[", written)
        self.server.tools = [ODD]
        self.gives(worker, "__import__('importlib').reload(github).__all__", ["odd"])
        self.assertIn("def odd(", worker.run(code).stdout)


class Hostile(unittest.TestCase):
    def test_schemas_of_any_form_end(self):
        two = {"anyOf": [{"$ref": "#/$defs/a"}] * 9}
        for schema in (
            {"properties": {f"p{i}": {"type": "string"} for i in range(10_000)}},
            {"properties": {"a": two, "class": {"$ref": "#"}, "": {}}, "$defs": {"a": two}},
            {"properties": {"!" * i: {} for i in range(3000)}},
            {"properties": {"x": {"$ref": "#/properties/x"}}, "required": True},
            {"properties": {"__class__": {"type": {}, "enum": 3}, "a b": 1, "a_b": []}},
            {"properties": 7, "required": [[]], "$ref": "#/a/b"},
            None,
        ):
            takes = signatures.Signature("f", {"name": "f", "input_schema": schema})
            self.assertLess(len(takes.documentation(takes.python())), 200_000)
            name = next(iter(takes.names), None)
            takes.arguments((), {name: "x"} if name else {})

    def test_a_text_steers_no_terminal(self):
        said = "a\x1b[31m\x07 \u202e\n" * 50_000
        properties = {f"p{i}": {"type": "string", "description": said} for i in range(3)}
        tool = {"description": said, "input_schema": {"properties": properties}}
        takes = signatures.Signature("f", tool)
        text = takes.documentation(takes.python())
        self.assertEqual(text, schemas.readable(text))
        self.assertNotIn("\x1b", text)
        self.assertLess(len(text), 10_000)

    def test_values_become_those_of_json(self):
        class Colour(str, enum.Enum):
            RED = "red"

        class Model:
            def model_dump(self, mode, by_alias):
                return {"mode": mode}

        for value, expected in (
            (Colour.RED, "red"),
            (Model(), {"mode": "json"}),
            (pathlib.PurePosixPath("a/b"), "a/b"),
            ((1, 2), [1, 2]),
            (datetime.date(2026, 1, 2), "2026-01-02"),
        ):
            self.assertEqual(expected, plain(value))
            self.assertIs(type(expected), type(plain(value)))
        for value, remedy in (
            (b"x", "b64encode"),
            (datetime.timedelta(1), "total_seconds"),
            (iter([1]), "list"),
            (object(), "str"),
        ):
            with self.assertRaisesRegex(TypeError, f"can't be sent as JSON: use .*{remedy}"):
                plain(value)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "needs numpy")
    def test_numpy_values_become_those_of_json(self):
        import numpy

        self.assertEqual("2026-01-02", plain(numpy.datetime64("2026-01-02")))
        self.assertEqual(3, plain(numpy.int64(3)))
        self.assertIs(bool, type(plain(numpy.bool_(True))))
        with self.assertRaisesRegex(TypeError, "b64encode"):
            plain(numpy.bytes_(b"x"))


@unittest.skipUnless(sys.platform == "linux", "forks are for Linux")
class Copies(CopyCase):
    def test_a_branch_has_a_door_of_its_own_and_lost_nothing(self):
        server = Server(self.lead)
        self.addCleanup(server.close)
        self.assertTrue(self.lead.run("from mcptools import github").ok)
        branch = self.branch(self.lead)
        self.assertEqual([], branch.notes)
        error = self.failing(branch, "github.search_issues('x')")
        self.assertIn("ToolError: no tools can be called", error["traceback"])
        other = Server(branch)
        self.addCleanup(other.close)
        for worker in (branch, self.lead):
            self.gives(worker, "github.search_issues('x')", {"query": "x"})


class Without(WorkerCase):
    def test_no_door_no_module(self):
        answer = self.start().run("import mcptools")
        self.assertEqual("ModuleNotFoundError", answer.exception["type"])
        self.assertIn("--mcp", answer.notes[0])
