"""Tests with a real matplotlib; skipped as a whole where there is none."""

import importlib.util
import unittest

from matplotlib_capture import switching

if importlib.util.find_spec("matplotlib") is None:
    raise unittest.SkipTest("matplotlib is not installed")

switching.keep_our_backend()  # before anything imports matplotlib, as a session does
