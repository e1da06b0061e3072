"""What the checker lets pass never reaches what is blocked; and a weaker one is caught.

For longer: make fuzz-verify.
"""

import unittest
from unittest import mock

from pyworker.policy import routes, verify
from pyworker.policy.judge import Judge
from pyworker.policy.rules import Rules
from pyworker.tests.policy import verify_fuzz

_PROGRAMS = 400
_SEED = 20


class TestFuzz(unittest.TestCase):
    def tearDown(self):
        verify._rules.cache_clear()

    def test_nothing_blocked_is_reached(self):
        found, cells = verify_fuzz.escapes(_SEED, _PROGRAMS)
        self.assertEqual(found, [])
        # Most cells reach for what is blocked; enough pass and run.
        self.assertGreater(cells, 200)

    def test_weaker_judges_are_caught(self):
        weaknesses = {
            "attributes of modules are not modules": mock.patch.object(
                Rules, "_extend", lambda self, path, name: f"{path}.{name}" if path else ""
            ),
            "modules may be copied": mock.patch.object(Judge, "_kept", lambda self, path: None),
            "modules may have other names": mock.patch.object(
                Judge, "_check_alias", lambda self, alias, path: None
            ),
            "names without a binding are nobody's": mock.patch.object(
                Judge, "_stranger", lambda self, name: ()
            ),
            "every binding hides a builtin": mock.patch.object(
                Judge, "_visit_block", lambda self, body: self.visit_all(body)
            ),
            "attributes lead nowhere": mock.patch.object(routes, "ATTRIBUTES", {}),
            "imports are not looked at": mock.patch.object(
                Judge, "visit_ImportFrom", lambda self, node, use: None
            ),
        }
        for weakness, patch in weaknesses.items():
            with self.subTest(weakness), patch:
                self.assertTrue(self._is_caught(), "nothing was found")

    def _is_caught(self):
        for seed in range(_SEED, _SEED + 4):
            verify._rules.cache_clear()
            if verify_fuzz.escapes(seed, _PROGRAMS)[0]:
                return True
        return False
