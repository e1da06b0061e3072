"""The file that holds the code while it runs (--code-file)."""

import os
import re

_CALL = re.compile(
    r"get_ipython\(\)\.(?:system|getoutput|run_line_magic|run_cell_magic)\(.*\)(?=\s*$)", re.M
)
FOLDER = "code"  # in the private directory; the server clears it after a crash


class CodeFile:
    """Keeps the running code in a file, so that __file__ is a real one.

    With it multiprocessing's "spawn" method can import the session's functions.
    Without it __main__ must have no __file__: a spawned Pool would start workers
    that fail to import it, for ever.
    """

    def __init__(self, private_dir, name):
        self.name = name
        self.move(private_dir)

    def move(self, private_dir):
        """Puts the file under another folder from now on."""
        self.path = os.path.join(private_dir, FOLDER, self.name) if self.name else ""

    def write(self, code, namespace):
        """Writes the file and sets __file__; returns a note if it can't, else ""."""
        if not self.path:
            namespace.pop("__file__", None)
            return ""
        try:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(code)
        except OSError as error:
            namespace.pop("__file__", None)
            return f"the code file {self.path} can't be written: {error.strerror}"
        namespace["__file__"] = self.path
        return ""

    def write_python(self, source):
        """Writes what the code became. A process that imports it runs no magic once more."""
        if self.path and os.path.exists(self.path):
            with open(self.path, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(_CALL.sub("None", source))

    def remove(self):
        """Removes the file, if the code hasn't done so itself."""
        if self.path:
            try:
                os.unlink(self.path)
            except OSError:
                pass
