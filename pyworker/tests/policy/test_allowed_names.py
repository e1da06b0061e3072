"""A refusal names what is allowed, so that the next try need not be a guess."""

import unittest

from pyworker.policy import verify


class TestAllowedNames(unittest.TestCase):
    def test_what_is_allowed_is_named(self):
        many = [f"module_{number:03}" for number in range(100)]
        for policy, code, expected in (
            ({"allowed_modules": ["math", "json"]}, "import re", "json, math"),
            ({"allowed_modules": ["a", "os.*", "numpy.*"]}, "import numpyy", "numpy, a, os"),
            ({"allowed_modules": ["math", "re"], "blocked_modules": ["re"]}, "import os", "math"),
            ({"allowed_modules": []}, "import math", "none"),
            ({"allowed_modules": many}, "import module_070x", "module_070, module_0"),
            ({"allowed_modules": many}, "import os", "module_015 and 84 more"),
            ({"allowed_variables": ["z", "df_*"]}, "df = 1", "df_*, z"),
            ({"commands": ["ls", "wc"]}, "!w", "wc, ls"),
            ({"commands": many}, "!ls", "module_015 and 84 more"),
            ({"pip_packages": ["numpy", "pandas"]}, "%pip install panda", "pandas, numpy"),
            ({"pip_packages": many}, "%pip install x", "module_015 and 84 more"),
            (
                {"allowed_modules": [f"os.{name}" for name in many], "blocked_modules": ["os"]},
                "import os",
                "os.module_012 and 87 more",
            ),
        ):
            with self.subTest(policy=policy, code=code):
                message = verify.check(code, policy).violations[0]["message"]
                self.assertIn(expected, message.partition(": ")[2])
                self.assertLess(len(message), 300)
