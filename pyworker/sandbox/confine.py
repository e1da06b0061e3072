"""Puts a wall around this process, as the server has drawn it.

The policy is the server's (internal/sandbox in Go makes the profile); here it is only
put into force, in the order in which the kernel allows it, before any code of the
user's. Whatever fails raises Refused: a wall with a hole is none. Copies and children
inherit all of it.

With --probe this file says, as a program of its own, what the host allows.
"""

import _socket
import base64
import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import os
import resource
import stat
import struct
import sys

# Linux numbers these system calls alike on all architectures.
_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446

_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_DESCRIPTORS = 1, 0x04 | 0x40
_NO_LINKS, _BENEATH = 0x04, 0x08  # RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4

_NEW_USER = 0x10000000

_PR_SET_PDEATHSIG, _PR_GET_PDEATHSIG = 1, 2
_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 4, 22, 24
_PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 28, 38, 47
_SECCOMP_MODE_FILTER = 2
_AMBIENT_CLEAR_ALL = 4
_CAPABILITIES_V3 = 0x20080522
_KEEP_NOBODY_ROOT = 0b1111  # NOROOT and NO_SETUID_FIXUP, both locked

_LANDLOCK_PATH = 1
# The rights that make sense for what is no directory.
_FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15

_PROXY_BACKLOG = 64

_c = ctypes.CDLL(None, use_errno=True)
_base = None  # what this process has put into force ahead of apply


class Refused(OSError):
    """A part of the wall could not be put into force."""


def apply(profile):
    """Puts the profile into force, for good.

    Returns the descriptor on which the server's proxy is to listen, 0 for none.
    """
    global _base
    end_with, parent = ctypes.c_int(), os.getppid()
    _check(_c.prctl(_PR_GET_PDEATHSIG, ctypes.byref(end_with)))
    if _base is None:
        enter(profile["base"])
    base, _base = _base, None
    if base.profile != profile["base"]:
        raise Refused("the sandbox: what was put into force ahead is not what the session needs")
    listener = _step("listening for the server's proxy", _listen, profile["base"])
    _step("mounting the session's own directories", base.mount_own, profile.get("binds", ()))
    _step("reading the rules for the session's own files", base.add_rules, profile.get("rules", ()))
    _step("setting limits", _set_limits, profile)
    _step("giving up privileges", _drop_privileges, profile)
    _end_with(parent, end_with.value)
    _set_environment(profile.get("environment", {}))
    _step("restricting files (Landlock)", base.restrict)
    _step("restricting system calls (seccomp)", _filter_calls, profile.get("seccomp", ""))
    return listener


def enter(profile):
    """Puts into force what is the same for all sessions, the base of a profile.

    A worker that is forked ahead of its session does so ahead, too. It runs no code of
    the user's before apply.
    """
    global _base
    base = _Base(profile)
    _step("entering namespaces", _enter_namespaces, profile.get("unshare", 0))
    if profile.get("network") is not None:  # {} is one without a proxy
        _step("bringing up the loopback device", _raise_loopback)
    _step("mounting the view of the file system", base.mount_view)
    _step("reading the rules for files", base.make_ruleset)
    _drop_capability_bounds()
    _base = base


def _step(what, act, *arguments):
    """Returns what a step does, and says of an OSError what was being done."""
    try:
        return act(*arguments)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise Refused(f"the sandbox: {what}{where}: {error.strerror}") from None


def _check(returned, about=None):
    """Returns what a function of C has returned, unless that is a failure, about a path."""
    if returned < 0:
        failure = ctypes.get_errno()
        raise OSError(failure, os.strerror(failure), about)
    return returned


def _call(number, *arguments):
    """Makes a system call; structures are bytes."""
    return _check(_c.syscall(*_longs(number, *arguments)))


def _longs(*arguments):
    return [ctypes.c_long(it) if isinstance(it, int) else it for it in arguments]


def _prctl(option, *arguments):
    _check(_c.prctl(option, *_longs(*arguments, 0, 0, 0, 0)[:4]))


def _mount(source, target, kind, flags, options):
    source, path, kind, options = (
        None if text is None else os.fsencode(text) for text in (source, target, kind, options)
    )
    _check(_c.mount(source, path, kind, *_longs(flags), options), target)


def _set_attributes(fd, path, flags, attributes, gone=0):
    """Sets attributes of a mount, of all below it with _AT_RECURSIVE, and takes others away."""
    it = struct.pack("4Q", attributes, gone, 0, 0)
    _call(_MOUNT_SETATTR, fd, path, flags, it, len(it))


def _open(path, at=_AT_FDCWD, bounds=0):
    """Opens a path for what is done with it here. There must be no links in it.

    Code of an earlier session may have put one where it could write, to have what it
    can't reach in its wall.
    """
    how = struct.pack("3Q", os.O_PATH | os.O_CLOEXEC, 0, _NO_LINKS | bounds)
    try:
        return _call(_OPENAT2, at, os.fsencode(path), how, len(how))
    except OSError as error:
        error.filename = path
        if error.errno == errno.ELOOP:
            error.strerror = "there is a link in the path, which was none before"
        raise


@contextlib.contextmanager
def _closing(fd, path):
    """Closes a descriptor in the end, and says of an OSError which path it is about."""
    try:
        yield fd
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(fd)


def _enter_namespaces(flags):
    if not flags:
        return
    uid, gid = os.geteuid(), os.getegid()
    _check(_c.unshare(flags))
    if flags & _NEW_USER:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _raise_loopback():
    probe = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    request = struct.pack("16sH22x", b"lo", 0x1 | 0x40)  # IFF_UP, IFF_RUNNING
    fcntl.ioctl(probe.fileno(), 0x8914, request)  # SIOCSIFFLAGS
    probe.close()


def _drop_capability_bounds():
    """Leaves nothing that an exec could gain; without privileges there is nothing."""
    for capability in range(64):
        if _c.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
            break  # past the last one, or not allowed
    _c.prctl(_PR_SET_SECUREBITS, _KEEP_NOBODY_ROOT, 0, 0, 0)


class _Base:
    """What is the same for all sessions, and what a session's own is then put into."""

    def __init__(self, profile):
        self.profile = profile
        self._view = profile.get("view")
        self._homes = None  # the directory that they are in, which may be covered by now
        self._later = []  # (target, mount, folder) of what is to be in the session's /tmp
        self._ruleset = None

    def mount_view(self):
        view = self._view
        if not view:
            return
        os.chdir("/")
        _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
        mask = os.umask(0o022)  # others pass through what is made on the way
        # What stays visible is taken out first, while it can be reached.
        trees = [(target, *_clone(source, writable)) for source, target, writable in view["binds"]]
        self._homes = _open(view["homes"])
        _set_attributes(_AT_FDCWD, b"/", _AT_RECURSIVE, _ATTR_RDONLY | _ATTR_NOSUID)
        for path in view["covers"]:
            _cover(path, "mode=0755,size=256k")
        for path, options in view["memory"]:
            _cover(path, options)
        if view["proc"]:
            flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
            _mount("proc", "/proc", "proc", flags, "hidepid=ptraceable")
        if view["ptys"] and os.path.isdir("/dev/pts"):
            _mount_terminals()
        for tree in trees:
            if _is_in(tree[0], view["temporary"]):
                self._later.append(tree)
            else:
                self._place(*tree)
        self._close_covers(False)
        os.umask(mask)

    def mount_own(self, binds):
        """Mounts what is the session's own, and what is in there."""
        if not self._view:
            return
        mask = os.umask(0o022)
        trees = self._later + [
            (target, *self._clone_own(source, writable)) for source, target, writable in binds
        ]
        os.close(self._homes)
        for tree in sorted(trees, key=lambda tree: tree[0].count("/")):
            self._place(*tree)
        self._close_covers(True)
        os.umask(mask)

    def _place(self, target, tree, folder):
        """Mounts a tree where it is to be seen."""
        with _closing(_make_place(target, folder, self._view["temporary"]), target) as place:
            _call(_MOVE_MOUNT, tree, b"", place, b"", _MOVE_DESCRIPTORS)
        os.close(tree)

    def _close_covers(self, around_homes):
        """Makes read-only what hides directories, once all is mounted that is to be there."""
        for path in self._view["covers"]:
            if _is_in(self._view["homes"], path) == around_homes:
                with _closing(_open(path), path) as cover:
                    _set_attributes(cover, b"", _AT_EMPTY_PATH, _ATTR_RDONLY)

    def _clone_own(self, source, writable):
        """Does as _clone with what is in a home.

        There all is read-only by now, as in all directories that were there before.
        """
        inner = os.path.relpath(source, self._view["homes"])
        tree, folder = _detach(source, _open(inner, self._homes, _BENEATH))
        gone = _ATTR_RDONLY if writable else 0
        _set_attributes(tree, b"", _AT_EMPTY_PATH, _ATTR_NOSUID | _ATTR_NODEV, gone)
        return tree, folder

    def make_ruleset(self):
        """Begins the rules for files."""
        landlock = self.profile.get("landlock")
        if not landlock:
            return
        words = (landlock["files"], 0, landlock["scopes"])[: landlock["words"]]
        attributes = struct.pack(f"{len(words)}Q", *words)
        self._ruleset = _call(_LANDLOCK_CREATE, attributes, len(attributes), 0)
        self.add_rules(landlock["rules"])

    def add_rules(self, rules):
        """Adds rules, where there are any; not every system has all of the paths."""
        for path, rights in rules if self._ruleset is not None else ():
            with contextlib.suppress(FileNotFoundError), _closing(_open(path), path) as fd:
                if not stat.S_ISDIR(os.fstat(fd).st_mode):
                    rights &= _FILE_RIGHTS
                rule = struct.pack("=Qi", rights, fd)
                _call(_LANDLOCK_ADD, self._ruleset, _LANDLOCK_PATH, rule, 0)

    def restrict(self):
        """Puts the rules for files into force."""
        if self._ruleset is not None:
            _call(_LANDLOCK_RESTRICT, self._ruleset, 0)
            os.close(self._ruleset)


def _cover(path, options):
    """Mounts an empty file system."""
    with _closing(_make_place(path, True, ""), path) as place:
        flags = _MS_NOSUID | _MS_NODEV
        _mount("tmpfs", f"/proc/self/fd/{place}", "tmpfs", flags, options)


def _mount_terminals():
    """Mounts an instance of /dev/pts in which nobody else's terminals are."""
    flags = _MS_NOSUID | _MS_NOEXEC
    try:
        options = "newinstance,ptmxmode=0666,mode=0620"
        _mount("devpts", "/dev/pts", "devpts", flags, options)
    except PermissionError:  # containers of LXC refuse it: no terminals, then
        _mount("tmpfs", "/dev/pts", "tmpfs", flags | _MS_NODEV, "mode=0555,size=4k")
        return
    if os.path.exists("/dev/ptmx") and not os.path.islink("/dev/ptmx"):
        _mount("/dev/pts/ptmx", "/dev/ptmx", None, _MS_BIND, None)


def _clone(source, writable):
    """Returns (a mount of source that is nowhere yet, whether it is a folder)."""
    tree, folder = _detach(source, _open(source))
    if source != "/proc":
        attributes = _ATTR_NOSUID | _ATTR_NODEV | (0 if writable else _ATTR_RDONLY)
        _set_attributes(tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes)
    return tree, folder


def _detach(source, fd):
    flags = _OPEN_TREE_CLONE | os.O_CLOEXEC | _AT_RECURSIVE | _AT_EMPTY_PATH
    with _closing(fd, source):
        return _call(_OPEN_TREE, fd, b"", flags), stat.S_ISDIR(os.fstat(fd).st_mode)


def _listen(base):
    """Returns the descriptor on which the proxy is to be found, 0 without one."""
    network = base.get("network")
    if not network or not network.get("port"):
        return 0
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.bind(("127.0.0.1", network["port"]))
    listener.listen(_PROXY_BACKLOG)
    return listener.detach()


def _set_limits(profile):
    """Limits this process, and makes it likelier than the server to be ended by the kernel.

    Its copies, which have the state from before, can't be told apart from it where
    it may not write to /proc later.
    """
    if profile.get("expose"):
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
            score = int(file.read()) + profile["expose"]
            file.write(b"%d" % min(score, 1000))
    for which, soft, hard in profile.get("rlimits", ()):
        _, most = resource.getrlimit(which)
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(which, (soft, hard))


def _drop_privileges(profile):
    user, group = profile.get("user", 0), profile.get("group", 0)
    if user:
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    _c.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)  # Linux 4.3
    _check(_c.capset(struct.pack("Ii", _CAPABILITIES_V3, 0), bytes(24)))  # none of three sets
    # A change of user makes a process's /proc files root's: it could not write
    # its own, as the one that says whom the kernel ends first.
    _prctl(_PR_SET_DUMPABLE, 1)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _end_with(parent, number):
    """Has the kernel signal this process again when its parent, the server, ends.

    It has forgotten that with the change of user. A worker that a forker has forked was
    told nothing of the kind.
    """
    if number:
        _prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:
            os.kill(os.getpid(), number)


def _set_environment(environment):
    os.environ.update(environment)
    if (tempfile := sys.modules.get("tempfile")) is not None:
        tempfile.tempdir = None  # may have been found before
    matplotlib = sys.modules.get("matplotlib")
    for name in ("get_configdir", "get_cachedir"):
        find = getattr(getattr(matplotlib, name, None), "__wrapped__", None)
        if find is not None:
            setattr(matplotlib, name, functools.cache(find))  # the same


def _filter_calls(seccomp):
    """Puts a filter into force, an array of struct sock_filter in base 64."""
    if program := base64.b64decode(seccomp):
        place = ctypes.cast(program, ctypes.c_void_p).value
        _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, struct.pack("HP", len(program) // 8, place))


def _is_in(path, directory):
    return f"{path}/".startswith(f"{directory}/")


def _make_place(target, folder, temporary):
    """Returns a descriptor of something to mount on, made where a cover hides what was there.

    No link on the way is followed. In the session's own temporary directory its code may
    have put something in the way, which is removed.
    """
    at, passed = os.open("/", os.O_PATH | os.O_CLOEXEC), ""
    names = target.strip("/").split("/")
    for left, name in enumerate(names, 1 - len(names)):
        own = temporary and _is_in(passed, temporary)
        passed = f"{passed}/{name}"
        with _closing(at, passed):
            at = _step_into(at, name, folder or left < 0, own)
    return at


def _step_into(at, name, folder, own):
    """Returns a descriptor of a folder, or of another thing that is no link, in a folder."""
    flags = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        there = os.open(name, flags, dir_fd=at)
        mode = os.fstat(there).st_mode
        if stat.S_ISDIR(mode) == folder and not stat.S_ISLNK(mode):
            return there
        os.close(there)
        if not own or stat.S_ISDIR(mode):
            raise OSError(errno.EEXIST, "something else is in its place")
        os.unlink(name, dir_fd=at)
    except FileNotFoundError:
        pass
    if folder:
        os.mkdir(name, 0o755, dir_fd=at)
    else:
        made = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        os.close(os.open(name, made, 0o600, dir_fd=at))
    return os.open(name, flags, dir_fd=at)


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _probe(trials):
    """Returns what the host allows; trials are profiles by name."""
    version = _c.syscall(*_longs(_LANDLOCK_CREATE, None, 0, 1))  # -1 where there is none
    failures = {name: _failure_of(profile) for name, profile in trials.items()}
    return {"landlock": max(version, 0), "user": os.geteuid(), **failures}


def _failure_of(profile):
    """Returns why the profile can't be put into force, "" if it can."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        said = b""
        try:
            apply(profile)
        except BaseException as error:
            said = str(error).encode() or type(error).__name__.encode()
        os.write(writer, said)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    if status:
        return f"a process that tried it ended with {os.waitstatus_to_exitcode(status)}"
    return said.decode(errors="replace")


if __name__ == "__main__":
    json.dump(_probe(json.load(sys.stdin)), sys.stdout)
