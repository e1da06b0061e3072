# pip lists and checks what is there.
import importlib.metadata
import json
import subprocess
import sys

listed = subprocess.check_output(
    [sys.executable, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"]
)
assert "pip" in {package["name"] for package in json.loads(listed)}
assert importlib.metadata.version("pip")
print("ok")
