def understudy_begin():
    """Has modules found in the working directory, as in the session, and no windows opened."""
    import os
    import sys

    sys.path.insert(0, os.getcwd())
    os.environ.setdefault("MPLBACKEND", "Agg")


understudy_begin()
