"""Tests with a real matplotlib; skipped as a whole where there is none."""

import importlib.util
import os
import unittest

# Before anything imports matplotlib, as the server does it.
os.environ["MPLBACKEND"] = "module://matplotlib_capture.backend"

if importlib.util.find_spec("matplotlib") is None:
    raise unittest.SkipTest("matplotlib is not installed")
