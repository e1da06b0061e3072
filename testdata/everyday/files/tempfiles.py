# Temporary files and directories.
# brief
import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as place:
    with open(os.path.join(place, "file"), "w") as out:
        out.write("text")
    os.mkdir(os.path.join(place, "inner"))
assert not os.path.exists(place)
with tempfile.NamedTemporaryFile("w+", suffix=".txt") as named:
    named.write("text")
    named.flush()
    assert open(named.name).read() == "text"
with tempfile.TemporaryFile() as unnamed, tempfile.SpooledTemporaryFile(10) as spooled:
    unnamed.write(b"x" * 100)
    spooled.write(b"x" * 100)
handle, path = tempfile.mkstemp()
os.close(handle)
os.replace(path, path + ".moved")
os.remove(path + ".moved")
script = os.path.join(tempfile.mkdtemp(), "script")
with open(script, "w") as out:
    out.write(f"#!{sys.executable}\nprint(42)\n")
os.chmod(script, 0o755)
assert subprocess.check_output([script]) == b"42\n"
child = "import tempfile; print(tempfile.mkdtemp())"
made = subprocess.check_output([sys.executable, "-c", child], text=True).strip()
assert os.path.isdir(made)
os.rmdir(made)
print("ok")
