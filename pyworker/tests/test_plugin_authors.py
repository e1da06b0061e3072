"""What the authors of plugins are given: check, run_test, the examples."""

import os
import pathlib

from pyworker.tests.libraries import needs
from pyworker.tests.plugins import DOUBLE, EXAMPLES, PluginCase
from pyworker.tests.worker import ROOT


class Authors(PluginCase):
    """check and run_test, and the plugins that ship as examples."""

    def test_check_and_run_test(self):
        source = DOUBLE + "@plugin.test\ndef test({}):\n    assert {}(2) == {}\n"
        worker = self.with_plugins(
            self.plugin("good", source.format("given", "given", 4)),
            self.plugin("plain", source.format("", "double", 4)),
            self.plugin("bad", source.format("given", "given", 5)),
            self.plugin("untested", DOUBLE),
            self.plugin("broken", "1 / 0"),
        )
        worker.run("import understudy_plugin as u")
        self.gives(worker, "[u.check('good'), u.run_test('good')]", [None, True])
        self.gives(worker, "[u.run_test('plain'), u.run_test('untested')]", [True, False])
        error = self.failing(worker, "u.run_test('bad')")
        self.assertEqual("AssertionError", error["type"])
        self.assertIn("assert given(2) == 5", error["traceback"])
        self.assertEqual("PluginError", self.failing(worker, "u.check('broken')")["type"])
        self.assertEqual("PluginError", self.failing(worker, "u.check('none')")["type"])

    def test_a_test_that_does_not_run_does_not_pass(self):
        test = "@plugin.test\n{}"
        worker = self.with_plugins(
            self.plugin("a", DOUBLE + test.format("async def t(f): assert f(2) == 5\n")),
            self.plugin("b", DOUBLE + test.format("async def t(f): assert f(2) == 4\n")),
            self.plugin("c", DOUBLE + test.format("def t(f): yield f(2) == 4\n")),
            self.plugin("d", DOUBLE + test.format("def t(f): return f(2) == 5\n")),
        )
        worker.run("import understudy_plugin as u")
        self.assertEqual("AssertionError", self.failing(worker, "u.run_test('a')")["type"])
        self.assertTrue(worker.value("u.run_test('b')"))
        for name, kind in {"c": "generator", "d": "bool"}.items():
            error = self.failing(worker, f"u.run_test({name!r})")
            self.assertIn(f"returned a value of type {kind}; a test", error["traceback"])

    def test_examples(self):
        names = sorted(n[:-3] for n in os.listdir(EXAMPLES) if n.endswith(".py"))
        plugins = []
        for name in names:
            file = os.path.join(EXAMPLES, name + ".py")
            source = pathlib.Path(file).read_text()
            plugins.append({"name": name, "file": file, "source": source, "configuration": {}})
        worker = self.with_plugins(*plugins)
        worker.run("import understudy_plugin")
        for name in names:
            with self.subTest(name):
                answer = worker.run(f"print(understudy_plugin.run_test({name!r}))")
                self.assertEqual(["True"], answer.stdout.splitlines()[-1:], answer.done)

    def test_the_documents_example(self):
        text = pathlib.Path(ROOT, "docs", "plugins.md").read_text()
        source = text.partition("```python\n")[2].partition("```")[0]
        plugin = self.plugin("word_count", "", "(text, least=1)", configuration={"factor": 3})
        worker = self.with_plugins({**plugin, "source": source}, user="ann")
        self.gives(worker, "word_count('two words')", 6)
        self.assertIn("counting for ann", worker.logs[0]["message"])
        worker.equip({**plugin, "source": source, "configuration": {"factor": 1}})
        self.assertTrue(worker.value("__import__('understudy_plugin').run_test('word_count')"))

    def example(self, name, **configuration):
        file = os.path.join(EXAMPLES, name + ".py")
        source = pathlib.Path(file).read_text()
        return {"name": name, "file": file, "source": source, "configuration": configuration}

    def test_sql_query_only_reads(self):
        worker = self.with_plugins(self.example("sql_query"))
        worker.run(
            "import sqlite3\nname = 'odd?#%41 name.db'\n"
            "connection = sqlite3.connect(name)\n"
            "connection.executescript('create table t (n, b); insert into t values (1, null)')\n"
            "connection.close()\nopen('text.db', 'w').write('no database');\n"
            "def ask(query): return list(map(list, rows(sql_query(name, query))))\n"
            "def rows(found): return found.values.tolist() if hasattr(found, 'values') else "
            "[row.values() for row in found]\n"
        )
        self.gives(worker, "ask('select * from t')", [[1, None]])
        self.gives(worker, "ask('pragma table_info(t)')[0][1]", "n")
        for query in (
            "insert into t values (2, 2)",
            "update t set n = 3",
            "drop table t",
            "create temp table u (n)",
            "attach 'new.db' as other",
            "vacuum into 'copy.db'",
            "pragma user_version = 3",
            "pragma journal_mode = wal",
            "select load_extension('x')",
            "select 1; delete from t",
            "begin",
            "",
        ):
            with self.subTest(query):
                self.failing(worker, f"ask({query!r})")
        self.gives(worker, "ask('select * from t')", [[1, None]])
        for path, kind in {"none.db": "FileNotFoundError", "text.db": "DatabaseError"}.items():
            error = self.failing(worker, f"sql_query({path!r}, 'select * from t')")
            self.assertEqual(kind, error["type"])
            self.assertNotIn(worker.workdir, error["traceback"])
        self.gives(worker, "sorted(__import__('os').listdir())", ["odd?#%41 name.db", "text.db"])

    def test_sql_query_is_bounded(self):
        worker = self.with_plugins(self.example("sql_query", timeout=0.05, max_bytes=1000))
        worker.run("import sqlite3\nsqlite3.connect('e.db').execute('create table t (n)');")
        endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select {} from n"
        error = self.failing(worker, f"sql_query('e.db', {endless.format('count(*)')!r})")
        self.assertEqual("TimeoutError", error["type"])
        answer = worker.run(f"len(sql_query('e.db', {endless.format('zeroblob(400)')!r}))")
        self.assertEqual("2\n", answer.stdout.split(": more would be too large\n")[1])
        answer = worker.run(f"len(sql_query('e.db', {endless.format('i')!r}, 7))")
        self.assertEqual("7", answer.stdout.splitlines()[-1])
        self.failing(worker, "sql_query('e.db', 'select 1', 0)")

    def test_detect_anomalies(self):
        worker = self.with_plugins(self.example("detect_anomalies"))
        for call, found in {
            "{'x': [1] * 30 + [9]}, 'x'": [9],
            "{'x': [1.0] * 30 + [float('inf'), None, float('nan')]}, 'x'": ["inf"],
            "{'x': [1, 2, 1, 90]}, 'x', 1.5, 'iqr'": [90],
            "{'x': [1, 1, 1]}, 'x'": [],
            "[], 'x'": [],
            "[{'x': 5}], 'x'": [],
        }.items():
            with self.subTest(call):
                worker.run(f"found = detect_anomalies({call})")
                values = "found['x'] if hasattr(found, 'columns') and 'x' in found else "
                values += "[row['x'] for row in found]"
                code = f"[v if v < 1e300 else 'inf' for v in ({values})]"
                self.gives(worker, code, found)
        for call, kind in {
            "[{'x': 1}], 'y'": "KeyError",
            "[{'x': 'a'}, {'x': 1}], 'x'": "TypeError",
            "[{'x': 1}], 'x', 3, 'median'": "ValueError",
            "[{'x': 1}], 'x', 0": "ValueError",
            "{'x': [1], 'y': []}, 'x'": "ValueError",
        }.items():
            with self.subTest(call):
                error = self.failing(worker, f"detect_anomalies({call})")
                self.assertEqual(kind, error["type"])

    @needs("pandas")
    def test_detect_anomalies_keeps_a_frame_as_it_is(self):
        worker = self.with_plugins(self.example("detect_anomalies"))
        worker.run(
            "import pandas\nx = pandas.array([1] * 30 + [9, None], 'Int64')\n"
            "frame = pandas.DataFrame({'x': x, 'k': 'a'}, index=range(100, 132))\n"
            "found = detect_anomalies(frame, 'x')"
        )
        self.gives(worker, "[int(found.index[0]), list(found)]", [130, ["x", "k"]])
        self.gives(worker, "len(found)", 1)

    def test_without_plugins_there_is_no_module(self):
        self.assertEqual(
            "ModuleNotFoundError", self.failing(self.start(), "import understudy_plugin")["type"]
        )
