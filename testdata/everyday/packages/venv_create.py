# A virtual environment with pip, and a package that is installed into it from a file.
import subprocess
import venv
import zipfile

venv.create("env", with_pip=True)
info = "greeter-1.0.dist-info"
with zipfile.ZipFile("greeter-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greeter.py", "def greet():\n    return 'hello'\n")
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n")
    wheel.writestr(
        f"{info}/WHEEL",
        "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    )
    wheel.writestr(f"{info}/RECORD", "")
pip = ["env/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
subprocess.run([*pip, "greeter-1.0-py3-none-any.whl"], check=True)
assert (
    subprocess.check_output(["env/bin/python", "-c", "import greeter; print(greeter.greet())"])
    == b"hello\n"
)
print("ok")
