"""The working directory: where each execution starts, and finds its modules."""

import os
import sys

from . import late


class Place:
    """Puts the working directory back as each execution expects it."""

    def __init__(self, workdir):
        self.workdir = workdir
        # With -m the folder that Python was started in stands first.
        first = [] if getattr(sys.flags, "safe_path", False) else sys.path[:1]
        late.leave_out({"", workdir, *first})
        rest = sys.path[len(first) :]
        self._path = [workdir, *(p for p in rest if p not in ("", workdir))]
        self._settled = set(self._path[1:])  # folders of the installation
        sys.path = list(self._path)

    def enter(self):
        """Changes to the working directory, made again if it was deleted.

        Returns a sentence for the reader when that can't be done, else "".
        """
        self._restore_path()
        self._forget_listings()
        try:
            os.chdir(self.workdir)
            return ""
        except OSError:
            pass
        try:
            os.makedirs(self.workdir, exist_ok=True)
            os.chdir(self.workdir)
        except OSError as error:
            return f"the working directory {self.workdir} can't be entered: {error.strerror}"
        return f"the working directory {self.workdir} was gone and has been made again, empty"

    def _restore_path(self):
        if type(sys.path) is not list or not sys.path:
            sys.path = list(self._path)
        elif sys.path[0] != self.workdir:
            sys.path.insert(0, self.workdir)

    def _forget_listings(self):
        """Lets the import system see files that were made a moment ago.

        importlib.invalidate_caches would do it for every folder: it imports
        importlib.metadata (20 ms) and lists site-packages again each time. A
        folder's listing is renewed by its time of change anyway, which only
        misses what is made within one tick of the clock after the listing.
        """
        cache = sys.path_importer_cache
        for path in cache.keys() - self._settled:
            finder = cache.get(path)
            if finder is None:  # the folder wasn't there when it was looked for
                cache.pop(path, None)
            elif hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()
