"""What the judge of code has let pass: the worker runs that, and shows what was written."""

from pyworker.policy import verify
from pyworker.tests.libraries import needs
from pyworker.tests.worker import WorkerCase

POLICY = {"magics": {"shell": "allow"}, "commands": ["echo"]}
REGISTER = """
def spoil(lines):
    return ["print('spoilt')\\n"]
for each in (get_ipython().input_transformer_manager, get_ipython()):
    for name in ("line_transforms", "input_transformers_cleanup", "input_transformers_post"):
        getattr(each, name, []).append(spoil)
"""


@needs("IPython")
class Judged(WorkerCase):
    def judge_and_run(self, worker, code):
        """Has code judged, and what that gives run; returns its Answer."""
        violations, error, transformed, notes = verify.check(code, POLICY)
        self.assertEqual(([], None), (violations, error))
        source = code if transformed is None else transformed
        worker._execution += 1
        request = {"type": "run", "execution": worker._execution, "kind": "code", "code": source}
        more = {} if transformed is None else {"raw": code}
        if notes:
            more["notes"] = notes
        worker.send({**request, **more, "judged": True, "arguments": {}, "result_var_name": ""})
        return worker.finish()

    def test_it_runs_as_it_was_judged(self):
        worker = self.start()
        self.assertEqual("2\n", self.judge_and_run(worker, "%precision 3\n1 + 1\n").stdout[-2:])
        self.assertTrue(worker.run(REGISTER).ok)
        self.assertEqual("from here\n", self.judge_and_run(worker, "!echo from here").stdout)
        self.assertEqual("3\n", self.judge_and_run(worker, "1 + 2").stdout)
