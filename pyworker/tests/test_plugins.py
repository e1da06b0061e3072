"""Plugins in sessions: as code finds them, loaded late, replaced, broken."""

import os
import pathlib

from pyworker.tests.libraries import needs
from pyworker.tests.plugins import COUNTER, DOUBLE, HEAD, PluginCase


class Callables(PluginCase):
    def test_help_and_repr_before_it_is_loaded(self):
        doc = "Doubles a number.\n\nParameters\n----------\nn : int\n"
        plugin = self.plugin("double", "1 / 0", "(n, times=1)", doc)
        worker = self.with_plugins(plugin)
        shown = worker.run("help(double)").stdout
        self.assertIn("double(n, times=1)\n", shown)
        self.assertIn("n : int", shown)
        self.prints(worker, "double", "<plugin double(n, times=1): Doubles a number.>\n")
        answer = worker.run("import inspect\nprint(inspect.signature(double), double.__name__)")
        self.assertEqual("(n, times=1) double\n", answer.stdout)

    def test_search(self):
        worker = self.with_plugins(
            self.plugin("sales", "@plugin\ndef sales(): pass\n", "()", doc="Rows of a region."),
            self.plugin("stock", "@plugin\ndef stock(): pass\n", "()", doc="What Sales left."),
            self.plugin("staff", "@plugin\ndef staff(): pass\n", "()", doc="Who is there."),
        )
        for words, found in (
            ("sales", ["sales", "stock"]),
            ("REGION sales", ["sales"]),
            ("nothing of it", []),
            ("", ["sales", "stock", "staff"]),
        ):
            code = f"[one.__name__ for one in search_plugins({words!r})]"
            self.prints(worker, code, f"{found}\n")
        said = worker.run("search_plugins('left')").stdout
        self.assertEqual("[<plugin stock(): What Sales left.>]\n", said)

    def test_the_described_signature_binds(self):
        worker = self.with_plugins(
            self.plugin("f", "@plugin\ndef f(b, a):\n    return [a, b]\n", "(a, b=None)")
        )
        self.prints(worker, "f(1)\nf(1, 2)", "[1, None]\n[1, 2]\n")
        error = self.failing(worker, "f(1, 2, 3)")
        self.assertTrue(
            error["traceback"].endswith("TypeError: f() too many positional arguments\n")
        )
        self.assertEqual([["<cell 2>", 1, "<module>", "f(1, 2, 3)"]], error["stack"])
        self.assertIn("'a'", self.failing(worker, "f(b=1)")["traceback"])

    def test_it_can_be_shadowed_passed_on_and_pickled(self):
        worker = self.with_plugins(self.plugin("double", DOUBLE, "(n)"))
        answer = worker.run(
            "import pickle, copy\nlist(map(double, [1, 2])), "
            "pickle.loads(pickle.dumps(double)) is double, "
            "copy.deepcopy(double) is double\nclass C: f = double\nC().f(4)\ndouble = 3\ndouble"
        )
        self.assertEqual("([2, 4], True, True)\n8\n3\n", answer.stdout, answer.done)
        self.prints(worker, "del double\ndouble(2)", "4\n")

    def test_a_default_is_each_calls_own(self):
        source = "@plugin\ndef f(a, b):\n    a.append(1)\n    b[0] = 1\n    return [a, len(b)]\n"
        worker = self.with_plugins(self.plugin("f", source, "(a=[], b={})"))
        self.gives(worker, "[f(), f()]", [[[1], 1], [[1], 1]])

    def test_context(self):
        source = """
            @plugin
            def tell(what, *, context):
                context.log("told " + what)
                return [context.config, dict(context.session_variables), context.workdir]
            """
        worker = self.with_plugins(
            self.plugin("tell", source, "(what)", configuration={"limit": 3, "deep": [None, True]}),
            user="ann",
        )
        answer = worker.call("tell", what="all")
        self.assertEqual(
            [{"limit": 3, "deep": [None, True]}, {"user": "ann"}, worker.workdir], answer.result
        )
        self.assertEqual(["plugin tell: told all"], [log["message"] for log in worker.logs])
        worker.equip(self.plugin("tell", source, "(what)"), user="bob", more="x")
        self.gives(worker, "tell('x')[1]", {"user": "bob", "more": "x"})
        self.gives(
            worker, "[n for n in (*globals(), *vars(__builtins__)) if n in ('user', 'more')]", []
        )

    def test_session_variables_are_live_and_read_only(self):
        source = """
            @plugin
            class Held:
                def __init__(self, context):
                    self.context = context
                def __call__(self, write=False):
                    if write:
                        self.context.session_variables["a"] = "b"
                    return dict(self.context.session_variables)
            """
        plugin = self.plugin("held", source)
        worker = self.with_plugins(plugin, a="1")
        self.assertEqual({"a": "1"}, worker.call("held").result)
        worker.equip(plugin, a="2")
        self.assertEqual({"a": "2"}, worker.call("held").result)
        self.assertEqual("TypeError", worker.call("held", write=True).exception["type"])

    def test_plugins_call_each_other(self):
        worker = self.with_plugins(
            self.plugin("double", DOUBLE),
            self.plugin("four", "@plugin\ndef four(n):\n    return double(double(n))\n"),
        )
        self.assertEqual(12, worker.call("four", n=3).result)


class Calls(PluginCase):
    """Calls of the kind that a tool makes."""

    def test_results(self):
        later = "import asyncio\n@plugin\nasync def later(n):\n    await asyncio.sleep(0)\n"
        worker = self.with_plugins(
            self.plugin(
                "echo", "@plugin\ndef echo(**given):\n    print('said')\n    return given\n"
            ),
            self.plugin("nothing", "@plugin\ndef nothing(): pass\n"),
            self.plugin("odd", "@plugin\ndef odd(): return object()\n"),
            self.plugin("later", later + "    return n + 1\n", "(n)"),
        )
        given = {"yes": True, "none": None, "nested": {"a": [1, 2.5, {"b": None}]}, "self": 1}
        for name, arguments, ok, result, kind, encoding in (
            ("echo", given, True, given, "dict", "json"),
            ("nothing", {}, True, None, "NoneType", "json"),
            ("later", {"n": 2}, True, 3, "int", "json"),
        ):
            answer = worker.call(name, **arguments)
            found = answer.ok, answer.result, answer.result_type, answer.result_encoding
            self.assertEqual((ok, result, kind, encoding), found)
            self.assertEqual("said\n" if name == "echo" else "", answer.stdout)
            self.assertEqual({"added": [], "changed": [], "removed": []}, answer.variables)
        answer = worker.call("odd")
        self.assertEqual(("repr", "object"), (answer.result_encoding, answer.result_type))
        self.prints(worker, "await later(2)", "3\n")

    def test_exception_shows_the_plugins_lines(self):
        source = """
            import json
            @plugin
            def fail(text):
                return parse(text)
            def parse(text):
                return json.loads(text)
            """
        worker = self.with_plugins(self.plugin("fail", source, "(text)"))
        answer = worker.call("fail", text="{")
        self.assertEqual((False, "JSONDecodeError"), (answer.ok, answer.exception["type"]))
        self.assertNotIn("result", answer.done)
        lines = answer.exception["traceback"].splitlines()
        self.assertIn(f'File "{self.folder}/fail.py", line 6, in fail', lines[1])
        self.assertIn("return parse(text)", lines[2])
        self.assertNotIn("pyworker", answer.exception["traceback"])
        self.assertEqual("fail", answer.exception["stack"][0][2])
        shown = self.failing(worker, "fail('{')")["traceback"].splitlines()
        self.assertEqual(lines[1:], shown[1 - len(lines) :])

    @needs("matplotlib")
    def test_figures_and_code_file(self):
        source = """
            @plugin
            def draw():
                import matplotlib.pyplot as plt
                plt.plot([1, 2])
            """
        worker = self.with_plugins(self.plugin("draw", source))
        answer = worker.call("draw")
        self.assertEqual(1, len(answer.figures), answer.done)


class Failures(PluginCase):
    def test_load_failures_say_why(self):
        self.write("bad.py", "\nraise ValueError('of the helper')")
        worker = self.start()
        for source, reason in {
            "x = 1\n1 / 0": "ZeroDivisionError: division by zero (f.py, line 3)",
            "def f(:": "SyntaxError: invalid syntax (f.py, line 2)",
            "import not_there": "ModuleNotFoundError: No module named 'not_there' (f.py, line 2)",
            "import bad": "ValueError: of the helper (bad.py, line 2)",
            "raise SystemExit(3)": "it exits",
            "x = 1": "nothing is under @plugin in ",
            "@plugin\ndef a(): pass\n@plugin\ndef b(): pass": "more than one thing is",
            "@plugin\nclass A: pass": "TypeError: @plugin: class A has no __call__",
            "plugin(3)": "TypeError: @plugin goes on a function or a class, not on int",
            "@plugin\nclass A:\n def __init__(s): pass\n def __call__(s): pass": "TypeError: ",
        }.items():
            with self.subTest(source):
                worker.equip(self.plugin("f", source))
                error = self.failing(worker, "f()")
                self.assertEqual("PluginError", error["type"])
                last = error["traceback"].splitlines()[-1]
                self.assertIn(f"plugin f can't be loaded: {reason}", last)
                for ours in ("pyworker", "frozen", "plugins.py"):
                    self.assertNotIn(ours, error["traceback"])

    def test_a_signature_that_does_not_fit(self):
        made = "@plugin\nclass F:\n def __init__(self, context): pass\n def __call__(self, {}): 1\n"
        worker = self.start()
        for described, source in {
            "(a, b=2)": "@plugin\ndef f(x, y=1): pass\n",
            "(a)": "@plugin\ndef f(a, /): pass\n",
            "(a, c=...)": "@plugin\ndef f(a, c): pass\n",
            "(a,)": "@plugin\ndef f(a, b, *, context): pass\n",
            "(a, )": made.format("b"),
        }.items():
            with self.subTest(source):
                worker.equip(self.plugin("f", source, described))
                error = self.failing(worker, "f(1)")
                self.assertEqual("PluginError", error["type"])
                self.assertIn("f.yaml describes f(a", error["traceback"])
        for source in (
            "@plugin\ndef f(*, context, **given): return 7\n",
            "@plugin\ndef f(b, a, c=3): return 7\n",
            made.format("a, b").replace(": 1", ": return 7"),
        ):
            with self.subTest(source):
                worker.equip(self.plugin("f", source, "(a, b=2)"))
                self.gives(worker, "f(1)", 7)

    def test_it_is_tried_again(self):
        worker = self.with_plugins(
            self.plugin("f", "open('data.txt').close()\n@plugin\ndef f(): return 1\n")
        )
        self.failing(worker, "f()")
        self.prints(worker, "open('data.txt', 'w').close()\nf()", "1\n")

    def test_interrupt_of_a_load(self):
        source = "import time\nif wait: print('begun', flush=True); time.sleep(60)\n" + DOUBLE
        worker = self.with_plugins(self.plugin("double", "from builtins import wait\n" + source))
        worker.run_until_printed("import builtins\nbuiltins.wait = 1\ndouble(2)", "begun")
        worker.interrupt()
        self.assertEqual("KeyboardInterrupt", worker.finish().exception["type"])
        self.prints(worker, "builtins.wait = 0\ndouble(2)", "4\n")

    def test_modules_of_any_kind_do_no_harm(self):
        worker = self.with_plugins(self.plugin("double", DOUBLE))
        worker.run("import sys\nsys.modules[3] = None\ndel sys.modules['understudy_plugin']")
        worker.equip(self.plugin("double", DOUBLE), self.plugin("counter", COUNTER))
        self.gives(worker, "[double(2), counter()]", [4, 1])

    def test_builtins_of_pythons_stay(self):
        worker = self.with_plugins(self.plugin("len", "@plugin\ndef f(x): return 7\n"))
        self.prints(worker, "len([1, 2])", "2\n")
        self.assertIn("plugin len is not there for code", worker.logs[0]["message"])


class Changes(PluginCase):
    def test_a_life_of_changes(self):
        plugin = self.plugin("counter", COUNTER, doc="Old.")
        worker = self.with_plugins(plugin)
        worker.run("counter(5)\nkept = counter")
        # The same stays loaded, a changed one is loaded anew.
        worker.equip({**plugin, "doc": "New."}, x="y")
        self.gives(worker, "[counter(), counter.__doc__]", [6, "New."])
        for changed in (
            self.plugin("counter", COUNTER, configuration={"a": 1}),
            self.plugin("counter", COUNTER.replace("self.n = 0", "self.n = 0 ")),
        ):
            worker.equip(changed)
            self.gives(worker, "[counter(), kept()]", [1, 2])
        # Removed, and back.
        worker.equip()
        self.assertEqual("NameError", self.failing(worker, "counter()")["type"])
        self.assertIn("it has been removed", self.failing(worker, "kept()")["traceback"])
        worker.equip(plugin)
        self.gives(worker, "counter()", 1)
        # A deleted name is back with the next change; what the user puts in its place stays.
        worker.run("import builtins\ndel builtins.counter")
        worker.equip({**plugin, "doc": "Newer."})
        self.gives(worker, "counter()", 2)
        worker.run("builtins.counter = 5")
        worker.equip()
        self.gives(worker, "counter", 5)


class Helpers(PluginCase):
    USES = "from {module} import add\n@plugin\ndef {name}(n): return add(n)\n"

    def using(self, name, module="helper"):
        return self.plugin(name, self.USES.format(module=module, name=name))

    def test_shared_by_plugins_and_by_both_names(self):
        self.write(
            "helper.py", "calls = []\ndef add(n):\n    calls.append(n)\n    return len(calls)\n"
        )
        worker = self.with_plugins(self.using("a"), self.using("b", ".helper"))
        self.gives(worker, "[a(0), b(0), a(0)]", [1, 2, 3])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "__pycache__")))

    def test_the_users_modules_are_others(self):
        self.write("helper.py", "def add(n): return 'plugin'\n")
        worker = self.with_plugins(self.using("a"))
        pathlib.Path(worker.workdir, "helper.py").write_text("def add(n): return 'user'\n")
        code = "import helper\n[helper.add(0), a(0), __import__('helper').add(0)]"
        self.prints(worker, code, "['user', 'plugin', 'user']\n")
        worker = self.with_plugins(self.using("a"))
        pathlib.Path(worker.workdir, "helper.py").write_text("def add(n): return 'user'\n")
        self.prints(worker, "[a(0), __import__('helper').add(0)]", "['plugin', 'user']\n")

    def test_not_there_for_code(self):
        self.write("helper.py", "def add(n): return 1\n")
        worker = self.with_plugins(self.using("a"))
        worker.run("a(0)")
        self.assertEqual("ModuleNotFoundError", self.failing(worker, "import helper")["type"])

    def test_packages_helpers_of_helpers_and_cycles(self):
        self.write("pkg/__init__.py", "from . import sub\nimport one\n")
        self.write("pkg/sub.py", "import two\ndef add(n): return two.value() + n\n")
        self.write("one.py", "import two\nbase = 40\n")
        self.write("two.py", "import one\ndef value(): return one.base\n")
        worker = self.with_plugins(self.using("a", "pkg.sub"))
        self.prints(worker, "a(2)", "42\n")
        code = (
            "import sys\nsorted(n for n in sys.modules if n.split('.')[0] in ('pkg', 'one', 'two'))"
        )
        self.prints(worker, code, "[]\n")
        self.gives(worker, "len({id(a) for a in [sys.modules['understudy_plugins.two']]})", 1)

    def test_one_that_a_call_imports_is_read_anew(self):
        self.write("helper.py", "def add(n): return 'old'\n")
        late = "@plugin\ndef late():\n    from . import helper\n    return helper.add(0)\n"
        plugin = self.plugin("late", late, helpers="1")
        worker = self.with_plugins(plugin)
        self.gives(worker, "late()", "old")
        self.write("helper.py", "def add(n): return 'newer'\n")
        worker.equip({**plugin, "helpers": "2"})
        self.gives(worker, "late()", "newer")

    def test_a_plugin_is_no_helper(self):
        worker = self.with_plugins(
            self.plugin("double", DOUBLE),
            self.plugin("a", "from . import double\n@plugin\ndef a(): return double(1)\n"),
        )
        self.write("double.py", HEAD + DOUBLE)
        self.assertIn("call double(), and put", self.failing(worker, "a()")["traceback"])
        self.assertIn(
            "call double(), and put",
            self.failing(worker, "import understudy_plugins.double")["traceback"],
        )
        self.gives(worker, "[double(1), double(2)]", [2, 4])

    def test_loads_in_threads_keep_the_users_modules(self):
        self.write("helper.py", "def add(n): return 'plugin'\n")
        source = (
            "from builtins import began, ended\n"
            "{wait}\n"
            "from helper import add\n"
            "@plugin\ndef {name}(n): return add(n)\n"
        )
        first = "began['t1'].set(); began['t2'].wait(0.5)"  # one that has to wait never begins
        second = "began['t2'].set(); ended['t1'].wait(20)"
        worker = self.with_plugins(
            self.plugin("t1", source.format(name="t1", wait=first)),
            self.plugin("t2", source.format(name="t2", wait=second)),
        )
        pathlib.Path(worker.workdir, "helper.py").write_text("def add(n): return 'user'\n")
        worker.run(
            "import builtins, threading\n"
            "began, ended = ({name: threading.Event() for name in ('t1', 't2')} for _ in '12')\n"
            "builtins.began, builtins.ended, found = began, ended, {}\n"
            "def use(name):\n"
            "    found[name] = vars(builtins)[name](0)\n"
            "    ended[name].set()\n"
            "one, two = (threading.Thread(target=use, args=[name]) for name in ('t1', 't2'))\n"
            "one.start(); began['t1'].wait(); two.start()\n"
            "one.join(); two.join()\n"
            "import helper"
        )
        self.gives(worker, "[found, helper.add(0)]", [{"t1": "plugin", "t2": "plugin"}, "user"])

    def test_the_standard_library_comes_first(self):
        self.write("json.py", "def add(n): return 'own'\n")
        worker = self.with_plugins(
            self.using("a", ".json"),
            self.plugin("b", "import json\n@plugin\ndef b(): return json.dumps(1)\n"),
        )
        self.gives(worker, "[a(0), b()]", ["own", "1"])

    def test_in_a_thread_and_a_forked_child(self):
        self.write("helper.py", "def add(n): return n + 1\n")
        worker = self.with_plugins(self.using("a"))
        answer = worker.run(
            "import threading, multiprocessing\nfound = []\n"
            "def add(n): found.append(a(n))\n"
            "threads = [threading.Thread(target=add, args=[n]) for n in range(8)]\n"
            "for t in threads: t.start()\nfor t in threads: t.join()\nsorted(found)\n"
            "with multiprocessing.get_context('fork').Pool(2) as pool: print(pool.map(a, [1, 2]))"
        )
        self.assertEqual("[1, 2, 3, 4, 5, 6, 7, 8]\n[2, 3]\n", answer.stdout, answer.done)
