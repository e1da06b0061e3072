"""The working directory: where each execution starts, and finds its modules."""

import itertools
import os
import sys

from . import lazy_import

_getcwd = os.getcwd


class WorkingDirectory:
    """Puts the working directory back as each execution expects it."""

    def __init__(self, workdir):
        self.path = workdir
        self._entered = False  # an execution has begun there
        self._told = set()  # other folders in which one ended, as the reader knows
        rest = list(sys.path)
        if lazy_import.started_in in rest:
            rest.remove(lazy_import.started_in)  # once: PYTHONPATH may name it too
        self._module_path = [workdir, *(p for p in rest if p not in ("", workdir))]
        lazy_import.leave_out({"", workdir, lazy_import.started_in})
        self._settled = frozenset(self._module_path[1:])  # the installation's
        self._known = len(sys.path_importer_cache)
        sys.path = list(self._module_path)

    def move(self, workdir):
        """Makes another folder the working directory."""
        old, self.path = self.path, workdir
        self._module_path[0] = workdir
        if type(sys.path) is list:
            sys.path = [workdir if path == old else path for path in sys.path]

    def has(self, folder):
        """Says whether modules are looked for in the folder, by way of add."""
        return folder in self._module_path

    def add(self, folder):
        """Has modules be looked for in the folder too, right after the working directory."""
        self._module_path.insert(1, folder)
        if type(sys.path) is list:
            sys.path.insert(1 if sys.path[:1] == [self.path] else 0, folder)

    def enter(self):
        """Changes to the working directory, made again if it was deleted.

        Returns a sentence for the reader when that can't be done, else "".
        """
        self._restore_path()
        self._forget_listings()
        self._entered = True
        try:
            os.chdir(self.path)
            return ""
        except OSError:
            pass
        try:
            os.makedirs(self.path, exist_ok=True)
            os.chdir(self.path)
        except OSError as error:
            self._entered = False
            return f"the working directory {self.path} can't be entered: {error.strerror}"
        return f"the working directory {self.path} was gone and has been made again, empty"

    def leave(self):
        """Returns a sentence for the reader when a run has ended elsewhere, else "".

        It is said once of each folder.
        """
        try:
            folder = _getcwd()
        except OSError:  # it was deleted
            return ""
        if not self._entered or folder == self.path or folder in self._told:
            return ""
        if folder == os.path.realpath(self.path):
            return ""
        self._told.add(folder)
        return f"the run ended in {folder}; the next one starts in the working directory again"

    def _restore_path(self):
        if type(sys.path) is not list or not sys.path:
            sys.path = list(self._module_path)
        elif sys.path[0] != self.path:
            sys.path.insert(0, self.path)

    def _forget_listings(self):
        """Lets the import system see files that were made a moment ago.

        importlib.invalidate_caches would do it for every folder: it imports
        importlib.metadata (20 ms) and lists site-packages again each time. A
        folder's listing is renewed by its time of change anyway, which only
        misses what is made within one tick of the clock after the listing. The
        folders from before the session, hundreds after the imports of a zygote,
        are not even looked at: that is memory shared with it until it is touched.
        """
        cache = sys.path_importer_cache
        for path in list(itertools.islice(reversed(cache), max(0, len(cache) - self._known))):
            finder = cache[path]
            if finder is None:  # the folder wasn't there when it was looked for
                del cache[path]
            elif path not in self._settled and hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()
