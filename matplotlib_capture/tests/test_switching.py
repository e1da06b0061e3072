"""Whatever backend user code asks for, its figures come when they are shown."""

import unittest

from .executions import MPL, python, run_fresh

# Two figures, shown and closed, as much generated code has it: under Agg
# itself both would be lost.
LOOP = """
import matplotlib.pyplot as plt
for k in range(2):
    plt.plot([k, 1]); plt.title(f"figure {k}"); plt.show(); plt.close()
"""
TITLES = ["figure 0", "figure 1"]


class SwitchingTest(unittest.TestCase):
    def test_before_pyplot(self):
        for preamble, environment in (
            ("import matplotlib; matplotlib.use('Agg')", {}),
            ("import matplotlib; matplotlib.use('TkAgg')", {"DISPLAY": ""}),  # which is not there
            ("import matplotlib; matplotlib.rcParams['backend'] = 'Agg'", {}),
            ("import os; os.environ['MPLBACKEND'] = 'TkAgg'", {"DISPLAY": ""}),
            ("", {"MPLBACKEND": "", "DISPLAY": ""}),
        ):
            with self.subTest(preamble, **environment):
                result = run_fresh(preamble + LOOP, **environment)
                self.assertEqual(result["titles"], TITLES, result["stderr"])
                self.assertEqual(result["counts"], [[2, 2]], "not captured at show time")
                self.assertNotRegex(result["stderr"], "Traceback|Warning")

    def test_switches_in_one_session(self):
        switches = [
            "",
            "import matplotlib; matplotlib.use('agg')",
            "import matplotlib; matplotlib.use('TkAgg', force=True)",
            "import matplotlib.pyplot as plt; plt.switch_backend('QtAgg')",
            "import matplotlib.pyplot as plt; plt.switch_backend('svg')",
            "import matplotlib.pyplot as plt; plt.switch_backend('PDF')",
            "import matplotlib.pyplot as plt; plt.switch_backend('cairo')",
            "import matplotlib; matplotlib.rcParams['backend'] = 'Agg'",
            "import matplotlib.pyplot as plt; plt.rcdefaults(); plt.style.use('ggplot')",
            "import os; os.environ['MPLBACKEND'] = 'Agg'",
            "import importlib, matplotlib.pyplot as plt; importlib.reload(plt)",
        ]
        result = run_fresh(*(switch + LOOP for switch in switches), DISPLAY="")
        for k, switch in enumerate(switches):
            with self.subTest(switch):
                self.assertEqual(result["counts"][k], [2 * k + 2, 2 * k + 2])
        self.assertEqual(result["titles"], TITLES * len(switches))

    def test_matplotlib_imported_before_the_first_execution(self):
        code = (
            "import matplotlib.pyplot as plt, matplotlib_capture as m, tempfile, os\n"
            "plt.switch_backend('Agg')\n"
            "got = []\n"
            "with tempfile.TemporaryDirectory() as folder:\n"
            "    m.begin(got.append, directory=folder, prefix='1', max_side=900)\n"
            "    plt.switch_backend('Agg'); plt.plot([1]); plt.show(); plt.close()\n"
            "    m.end()\n"
            "print(len(got))"
        )
        process = python("-c", code, MPLBACKEND="Agg")
        self.assertEqual(process.stdout, "1\n", process.stderr)

    def test_what_is_no_switch(self):
        """An unknown backend is an error, and one that is named for a file is used for that."""
        result = run_fresh(
            "import matplotlib.pyplot as plt\n"
            "try: plt.switch_backend('nonsense')\n"
            "except Exception as error: print('refused', type(error).__name__)\n" + LOOP,
            "import matplotlib.pyplot as plt, io\nplt.plot([1, 2]); file = io.BytesIO()\n"
            "plt.savefig(file, format='pdf', backend='pdf')\n"
            "print(file.getvalue()[:5])\n"
            "try: plt.savefig(file, format='png', backend='svg')\n"
            "except ValueError as error: print(error)\n",
        )
        self.assertEqual(result["titles"], [*TITLES, ""])
        for said in ("refused", "b'%PDF-'", "does not support png"):
            self.assertIn(said, result["stdout"])

    @unittest.skipIf(MPL < (3, 10), "matplotlib itself closed open figures on a switch")
    def test_open_figures_survive_a_switch(self):
        result = run_fresh(
            "import matplotlib.pyplot as plt\n"
            "plt.plot([1, 2]); plt.title('open')\n"
            "plt.switch_backend('agg')\n"
        )
        self.assertEqual(result["titles"], ["open"])


class ImportTest(unittest.TestCase):
    def test_package_imports_nothing_else(self):
        # What matters is matplotlib and numpy; the list says it for all.
        code = (
            "import sys; before = set(sys.modules)\n"
            "import matplotlib_capture as m\n"
            "m.begin(print, directory='/nowhere', prefix='1', max_side=9); m.end()\n"
            "print(sorted(n for n in set(sys.modules) - before\n"
            "             if not n.startswith(('matplotlib_capture', 'pyworker'))))"
        )
        process = python("-c", code)
        self.assertEqual(process.stdout, "[]\n", process.stderr)

    def test_the_import_watcher_leaves_no_trace(self):
        result = run_fresh(
            "import sys, matplotlib\n"
            "print([f for f in sys.meta_path if 'pyworker' in type(f).__module__])\n"
            "print('exec_module' in vars(matplotlib.__spec__.loader))"
        )
        self.assertIn("[]\nFalse\n", result["stdout"])

    def test_a_user_module_called_matplotlib(self):
        result = run_fresh(
            "import sys, os, shutil, tempfile\n"
            "folder = tempfile.mkdtemp(); sys.path.insert(0, folder)\n"
            "path = os.path.join(folder, 'matplotlib.py')\n"
            "open(path, 'w').write('mine = True')\n"
            "import matplotlib; print(matplotlib.mine)\n"
            "shutil.rmtree(folder)"
        )
        self.assertIn("True\n", result["stdout"])
