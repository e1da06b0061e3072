"""Writing images so that nobody sees half of one and no name is used twice."""

import os

ATTEMPTS = 100


def write(data, directory, stem):
    """Write `data` to ``<directory>/<stem>-<hex>.png`` and return the path.

    Several sessions may share the directory: the part-file's name, made
    exclusively, reserves the final one until the rename.
    """
    for _ in range(ATTEMPTS):
        name = f"{stem}-{os.urandom(3).hex()}.png"
        path = os.path.join(directory, name)
        part = os.path.join(directory, f".{name}.part")
        try:
            file = _create(part)
        except FileExistsError:
            continue
        if _finish(file, data, part, path):
            return path
    raise FileExistsError(f"no free name for {stem} among {ATTEMPTS} tried")


def _create(part):
    try:
        return open(part, "xb")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(part), exist_ok=True)
        return open(part, "xb")


def _finish(file, data, part, path):
    """Fill the part-file and give it its name; False if that is taken."""
    try:
        with file:
            taken = os.path.lexists(path)
            if not taken:
                file.write(data)
        if not taken:
            os.rename(part, path)
    except BaseException:
        os.unlink(part)
        raise
    # Only while it is still ours: after the rename another may have made one.
    if taken:
        os.unlink(part)
    return not taken
