# Zip and tar files, compression, copies of trees.
import bz2
import gzip
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib

os.makedirs("tree/deep")
for name in "tree/a", "tree/deep/b":
    with open(name, "w") as out:
        out.write(name * 1000)
os.symlink("a", "tree/link")
os.chmod("tree/a", 0o640)
for kind in "zip", "gztar", "bztar", "xztar":
    archive = shutil.make_archive(f"packed-{kind}", kind, "tree")
    shutil.unpack_archive(archive, f"out-{kind}")
    assert open(f"out-{kind}/deep/b").read() == "tree/deep/b" * 1000
with tarfile.open("again.tar", "w") as tar:
    tar.add("tree")
with tarfile.open("again.tar") as tar:
    known = hasattr(tarfile, "data_filter")  # since 3.10.12 and 3.11.4
    tar.extractall("again", **({"filter": "data"} if known else {}))
assert os.readlink("again/tree/link") == "a"
with zipfile.ZipFile("one.zip", "w", zipfile.ZIP_LZMA) as packed:
    packed.write("tree/a")
shutil.copytree("tree", "copy", symlinks=True)
shutil.move("copy", "moved")
shutil.copy2("tree/a", "tree/c")
shutil.rmtree("moved")
for module in bz2, gzip, lzma, zlib:
    assert module.decompress(module.compress(b"x" * 1000)) == b"x" * 1000
print("ok")
