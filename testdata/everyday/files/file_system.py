# Files as programs use them: links, modes, times, locks, pipes, spare files, space.
# brief
import fcntl
import glob
import os
import pathlib
import stat
import threading

place = pathlib.Path("files")
(place / "a" / "b").mkdir(parents=True)
text = place / "a" / "text"
text.write_text("one\ntwo\n")
os.link(text, place / "hard")
os.symlink("a/text", place / "soft")
assert (place / "soft").read_text() == (place / "hard").read_text()
os.rename(text, place / "a" / "b" / "text")
os.replace(place / "hard", place / "a" / "b" / "hard")
os.chmod(place / "a", 0o700)
os.utime(place / "a", (1, 2))
assert os.stat(place / "a").st_mtime == 2 and stat.S_IMODE(os.stat(place / "a").st_mode) == 0o700
old = os.umask(0o077)
os.umask(old)
with open("locked", "w+") as locked:
    fcntl.flock(locked, fcntl.LOCK_EX)
    fcntl.lockf(locked, fcntl.LOCK_UN)
    locked.write("x" * 1000)
    locked.flush()
    os.fsync(locked.fileno())
    os.posix_fallocate(locked.fileno(), 0, 10_000)
    os.ftruncate(locked.fileno(), 500)
    os.posix_fadvise(locked.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
with open("locked") as source, open("sent", "w") as target:
    assert os.sendfile(target.fileno(), source.fileno(), 0, 500) == 500
    assert os.copy_file_range(source.fileno(), target.fileno(), 100, 0, 500) == 100
os.mkfifo("fifo")
writer = threading.Thread(target=lambda: pathlib.Path("fifo").write_text("through"))
writer.start()
assert pathlib.Path("fifo").read_text() == "through"
writer.join()
assert len(glob.glob("files/**", recursive=True)) == 6, glob.glob("files/**", recursive=True)
if hasattr(os, "listxattr"):
    os.listxattr("locked")
assert os.statvfs(".").f_bavail > 0 and os.stat(".").st_uid == os.getuid()
assert {entry.name for entry in os.scandir(place)} == {"a", "soft"}
directory = os.open(place, os.O_DIRECTORY)
os.close(os.open("new", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=directory))
os.remove("new", dir_fd=directory)
os.chdir(place)
os.chdir("..")
os.sync()
print("ok")
