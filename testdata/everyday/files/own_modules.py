# Modules that the code writes, imports, reloads, runs and packs.
import importlib
import os
import runpy
import subprocess
import sys
import zipfile

os.makedirs("package")
with open("package/__init__.py", "w") as out:
    out.write("VALUE = 1\n")
with open("package/__main__.py", "w") as out:
    out.write("print('run as a module')\n")
importlib.invalidate_caches()
import package

assert package.VALUE == 1
with open("package/__init__.py", "w") as out:
    out.write("VALUE = 'another one'\n")
assert importlib.reload(package).VALUE == "another one"
assert subprocess.check_output([sys.executable, "-m", "package"]) == b"run as a module\n"
assert runpy.run_path("package/__init__.py")["VALUE"] == "another one"
subprocess.run([sys.executable, "-m", "compileall", "-q", "package"], check=True)
with zipfile.ZipFile("zipped.zip", "w") as packed:
    packed.writestr("zipped.py", "VALUE = 3")
sys.path.insert(0, "zipped.zip")
import zipped

assert zipped.VALUE == 3
print("ok")
