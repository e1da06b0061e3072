"""What the user's code has open when its process is copied."""

import _socket
import gc
import io
import os
import stat

_WRITERS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


def flush():
    """Writes out what Python holds back, so that two processes don't write it twice.

    Only what goes to files on disk: writing to a pipe might wait for ever. A class of the
    user's own may do anything in a method of that name: ours are called.
    """
    for file in gc.get_objects():
        for kind in _WRITERS:
            try:
                if issubclass(type(file), kind) and stat.S_ISREG(
                    os.fstat(kind.fileno(file)).st_mode
                ):
                    kind.flush(file)
            except Exception:
                pass  # closed, detached, no file at all; a full disk: it is still held back


def leading_elsewhere(kept):
    """Returns the descriptors that lead to other processes: pipes, sockets, terminals.

    kept are identities of what is left out (see identity).
    """
    return [fd for fd in map(int, os.listdir("/proc/self/fd")) if _leads_elsewhere(fd, kept)]


def listeners(fds):
    """Returns a Listener for each of the descriptors at which this process listens."""
    found = []
    for fd in fds:
        try:
            socket = _socket.socket(fileno=fd)
        except OSError:
            continue  # no socket
        if socket.getsockopt(_socket.SOL_SOCKET, _socket.SO_ACCEPTCONN):
            found.append(Listener(fd, socket))
        socket.detach()
    return found


class Listener:
    """A socket at which the original of a copy listens, to be opened once more."""

    def __init__(self, fd, socket):
        self.fd = fd
        self.name = socket.getsockname()
        self._kind = socket.family, socket.type, socket.proto

    def listen_again(self):
        """Listens at the same place under the same descriptor; says whether that is possible."""
        again = _socket.socket(*self._kind)
        try:
            again.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
            if self._kind[0] == _socket.AF_INET6:  # as asyncio opens them
                again.setsockopt(_socket.IPPROTO_IPV6, _socket.IPV6_V6ONLY, 1)
            if self._kind[0] == _socket.AF_UNIX and isinstance(self.name, str):
                os.unlink(self.name)
            again.bind(self.name)
            again.listen(128)
            again.setblocking(False)
            os.dup2(again.fileno(), self.fd, inheritable=False)
        except OSError:
            return False
        finally:
            again.close()
        return True


def _leads_elsewhere(fd, kept):
    if identity(fd) in (None, *kept):  # None: the listing's own
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or (stat.S_ISCHR(mode) and os.isatty(fd))


def identity(fd):
    """Returns what tells one open file from another, or None for a closed descriptor."""
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino
