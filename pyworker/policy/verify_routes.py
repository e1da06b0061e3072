"""What the checker knows of Python: modules, functions that are the same, and routes.

A *route* is a way to a function or a module that its name does not show: eval,
frames, the table of loaded modules. While a rule about functions, modules or
attributes is on, routes are refused, or the rule would mean nothing. Each comes
with what to write instead.
"""

# Modules that are the same one, or its half in C.
SAME_MODULES = {
    "__builtin__": "builtins",
    "_ctypes": "ctypes",
    "_frozen_importlib": "importlib._bootstrap",
    "_frozen_importlib_external": "importlib._bootstrap_external",
    "_imp": "imp",
    "_io": "io",
    "_multiprocessing": "multiprocessing",
    "_operator": "operator",
    "_pickle": "pickle",
    "_posixsubprocess": "subprocess",
    "_pyio": "io",
    "_signal": "signal",
    "_socket": "socket",
    "_winapi": "subprocess",
    "cPickle": "pickle",
    "nt": "os",
    "ntpath": "os.path",
    "posix": "os",
    "posixpath": "os.path",
}

# Functions that are the same one under another name.
SAME_FUNCTIONS = {
    "io.open": "builtins.open",
    "tokenize._builtin_open": "builtins.open",
    "bz2._builtin_open": "builtins.open",
    "lzma._builtin_open": "builtins.open",
    "importlib.__import__": "builtins.__import__",
    "os.unlink": "os.remove",
}

# What a rule for one function blocks besides: the same deed by a close relative.
RELATIVES = {
    "builtins.open": (
        "io.FileIO",
        "io.open_code",
        "codecs.open",
        "os.open",
        "os.fdopen",
        "tokenize.open",
        *(
            f"pathlib.{kind}().{method}"
            for kind in ("Path", "PosixPath", "WindowsPath")
            for method in ("open", "read_text", "read_bytes", "write_text", "write_bytes")
        ),
    ),
    "builtins.input": ("sys.stdin",),
}

# Modules that many others hold as an attribute: x.os is taken for the module os.
LEAKS = frozenset(("os", "sys", "subprocess", "shutil", "builtins", "importlib", "posix", "pty"))

# Modules that libraries hold as well: behind a library's name, as numpy.ctypeslib.ctypes,
# that of a refused one is taken for it. Behind an unknown object it may be anything: an
# array has an attribute ctypes. Names that libraries give to things of their own, as
# scipy.signal or numpy.random, are not here.
HELD = frozenset(
    (
        *("asyncio", "bz2", "cffi", "cloudpickle", "codecs", "ctypes", "dbm", "dill", "distutils"),
        *("doctest", "ensurepip", "faulthandler", "fcntl", "fileinput", "ftplib", "gzip"),
        *("imaplib", "linecache", "lzma", "mailbox", "marshal", "mmap", "msvcrt"),
        *("multiprocessing", "nntplib", "pathlib", "pdb", "pickle", "pkgutil", "poplib", "runpy"),
        *("shelve", "smtplib", "socket", "socketserver", "sqlite3", "tarfile", "telnetlib"),
        *("tempfile", "termios", "tkinter", "urllib", "venv", "webbrowser", "winreg", "xmlrpc"),
        *("zipfile", "zipimport"),
    )
)

# Attributes that have the name of a module and are none, or another one.
NO_MODULES = frozenset(
    (
        *("ast.operator", "datetime.time", "email.message", "xml.dom.pulldom"),
        *("numpy.ndarray.ctypes", "six.moves.urllib", "torch.multiprocessing"),
    )
)

# The names under which modules are usually imported.
USUAL_NAMES = {
    "ET": "xml.etree.ElementTree",
    "alt": "altair",
    "dd": "dask.dataframe",
    "dt": "datetime",
    "go": "plotly.graph_objects",
    "jnp": "jax.numpy",
    "mp": "multiprocessing",
    "mpl": "matplotlib",
    "np": "numpy",
    "nx": "networkx",
    "op": "operator",
    "osp": "os.path",
    "pd": "pandas",
    "pickle": "pickle",
    "pkl": "pickle",
    "pl": "polars",
    "plt": "matplotlib.pyplot",
    "px": "plotly.express",
    "sm": "statsmodels.api",
    "sns": "seaborn",
    "sp": "scipy",
    "tf": "tensorflow",
    "xr": "xarray",
}

_RUNS = "it runs code that can't be checked; write that code itself"
_LOADS = "it gives modules that can't be seen; write import NAME"
_PICKLE = "what it reads may call any function; use CSV, JSON, Parquet or NumPy files"
_FRAME = "it leads to every variable of the interpreter; pass what is needed as an argument"
_MAKES = "it makes functions from code that can't be checked; write them with def"
_PROGRAMS = "it runs other programs, or changes files, without a name that a rule could know"
_TEXT = "it evaluates text; write the annotation itself"
_NAMES = "it takes attributes by name, where a check can't see them; write them with a dot"

# Modules that are routes as a whole.
MODULES = {
    **{f"IPython.{name}": _RUNS for name in ("core", "extensions", "lib", "terminal", "testing")},
    "IPython.utils": _RUNS,
    "__main__": "use the variables by their names",
    "_interpreters": _RUNS,
    "_string": _NAMES,
    "_testcapi": _MAKES,
    "_testinternalcapi": _MAKES,
    "_xxsubinterpreters": _RUNS,
    "bdb": _RUNS,
    "cffi": "it calls any function of any library",
    "cloudpickle": _PICKLE,
    "code": _RUNS,
    "codeop": _RUNS,
    "concurrent.interpreters": _RUNS,
    "ctypes": "it calls any function of any library",
    "dill": _PICKLE,
    "doctest": _RUNS,
    "distutils.ccompiler": _PROGRAMS,
    "distutils.cmd": _PROGRAMS,
    "distutils.command": _PROGRAMS,
    "distutils.core": _RUNS,
    "distutils.dir_util": _PROGRAMS,
    "distutils.file_util": _PROGRAMS,
    "distutils.spawn": _PROGRAMS,
    "imp": _LOADS,
    "importlib._bootstrap": _LOADS,
    "importlib._bootstrap_external": _LOADS,
    "importlib.abc": _LOADS,
    "importlib.machinery": _LOADS,
    "logging.config": "it calls what its configuration names; use logging.basicConfig",
    "marshal": _MAKES,
    "matplotlib_capture": "it belongs to the interpreter",
    "multiprocessing.connection": _PICKLE,
    "multiprocessing.reduction": _PICKLE,
    "multiprocessing.util": _PROGRAMS,
    "numpy.distutils": _PROGRAMS,
    "pdb": _RUNS,
    "pip": "write %pip install NAME, where that is allowed",
    "pkg_resources": _LOADS,
    "pydoc": "use help(NAME)",
    "pyworker": "it belongs to the interpreter",
    "rlcompleter": _RUNS,
    "runpy": _RUNS,
    "setuptools._distutils": _PROGRAMS,
    "site": _RUNS,
    "test": _RUNS,
    "trace": _RUNS,
    "unittest.mock": _LOADS,
    "zipimport": _LOADS,
}

# Functions, by what they resolve to.
FUNCTIONS = {
    "builtins.eval": f"{_RUNS} (for literals: ast.literal_eval)",
    "builtins.exec": _RUNS,
    "builtins.compile": _RUNS,
    "builtins.execfile": _RUNS,
    "builtins.breakpoint": _RUNS,
    "builtins.get_ipython": _RUNS,
    "builtins.__builtins__": "use the builtin functions by their names",
    "builtins.__loader__": _LOADS,
    "builtins.__spec__": _LOADS,
    "__future__.barry_as_FLUFL": "code would be read in another way from then on",
    "cProfile.run": _RUNS,
    "cProfile.runctx": _RUNS,
    "cProfile.Profile().run": _RUNS,
    "profile.run": _RUNS,
    "profile.runctx": _RUNS,
    "copyreg.__newobj__": _MAKES,
    "dis.Bytecode": _MAKES,
    "gc.get_objects": _FRAME,
    "gc.get_referents": _FRAME,
    "gc.get_referrers": _FRAME,
    "importlib.metadata.EntryPoint": _LOADS,
    "importlib.metadata.entry_points": _LOADS,
    "importlib.util.module_from_spec": _LOADS,
    "importlib.util.spec_from_file_location": _LOADS,
    "importlib.util.spec_from_loader": _LOADS,
    "importlib.util.LazyLoader": _LOADS,
    "inspect.currentframe": _FRAME,
    "inspect.getattr_static": _NAMES,
    "inspect.get_annotations": _TEXT,
    "inspect.getclosurevars": _FRAME,
    "inspect.getinnerframes": _FRAME,
    "inspect.getmembers": "it gives what a module holds; use dir(x), and x.NAME",
    "inspect.getmembers_static": "it gives what a module holds; use dir(x), and x.NAME",
    "inspect.getmodule": _LOADS,
    "inspect.getouterframes": _FRAME,
    "inspect.stack": _FRAME,
    "inspect.trace": _FRAME,
    **{
        f"IPython.{name}": _RUNS
        for name in (
            *("InteractiveShell", "embed", "embed_kernel", "extract_module_locals"),
            *("get_ipython", "start_ipython", "start_kernel"),
        )
    },
    "joblib.load": _PICKLE,
    "multiprocessing.Pipe": _PICKLE,
    **{
        f"numpy.testing{private}.{name}": _RUNS
        for private in ("", "._private.utils", ".utils")
        for name in ("measure", "rundocs", "runstring")
    },
    "pandas.read_pickle": _PICKLE,
    "pandas.io.pickle.read_pickle": _PICKLE,
    "pandas.io.api.read_pickle": _PICKLE,
    "pandas.eval": f"{_RUNS} (df.eval and df.query take constant text)",
    "pickle.Unpickler": _PICKLE,
    "pickle._Unpickler": _PICKLE,
    "pickle._load": _PICKLE,
    "pickle._loads": _PICKLE,
    "pickle.load": _PICKLE,
    "pickle.loads": _PICKLE,
    "pkgutil.find_loader": _LOADS,
    "pkgutil.get_importer": _LOADS,
    "pkgutil.get_loader": _LOADS,
    "pkgutil.resolve_name": _LOADS,
    "shelve.open": _PICKLE,
    "shelve.DbfilenameShelf": _PICKLE,
    "shelve.Shelf": _PICKLE,
    "string.Formatter": _NAMES,
    "sys._current_exceptions": _FRAME,
    "sys._current_frames": _FRAME,
    "sys._getframe": _FRAME,
    "sys.breakpointhook": _RUNS,
    "sys.displayhook.shell": _RUNS,
    "sys.meta_path": _LOADS,
    "sys.path_hooks": _LOADS,
    "sys.path_importer_cache": _LOADS,
    "sys.setprofile": _FRAME,
    "sys.settrace": _FRAME,
    "threading.setprofile": _FRAME,
    "threading.settrace": _FRAME,
    "types.CodeType": _MAKES,
    "types.FunctionType": _MAKES,
    "types.LambdaType": _MAKES,
    "typing.ForwardRef": _TEXT,
    "typing.evaluate_forward_ref": _TEXT,
    "typing.get_type_hints": _TEXT,
    "uuid._get_command_stdout": _PROGRAMS,
    "annotationlib.ForwardRef": _TEXT,
    "annotationlib.get_annotations": _TEXT,
}

# Functions that must be called where they are named, so that a check sees with what.
DIRECT = frozenset(
    (
        "builtins.__import__",
        "builtins.delattr",
        "builtins.getattr",
        "builtins.globals",
        "builtins.locals",
        "builtins.setattr",
        "builtins.vars",
        "importlib.import_module",
        "operator.attrgetter",
        "operator.methodcaller",
        "timeit.Timer",
        "timeit.repeat",
        "timeit.timeit",
    )
)
IMPORTERS = frozenset(("builtins.__import__", "importlib.import_module"))

# What gives the variables by their names.
NAMESPACES = frozenset(("builtins.globals", "builtins.locals", "builtins.vars"))

# Tables whose items are modules or their contents.
TABLES = frozenset(("sys.modules",))

# Names that nothing else has, wherever they stand behind a dot: what they are.
DISTINCT = {
    "CodeType": "types.CodeType",
    "FunctionType": "types.FunctionType",
    "LambdaType": "types.LambdaType",
    "Unpickler": "pickle.Unpickler",
    "_builtin_open": "builtins.open",
    "_current_frames": "sys._current_frames",
    "_getframe": "sys._getframe",
    "_get_command_stdout": "uuid._get_command_stdout",
    "attrgetter": "operator.attrgetter",
    "currentframe": "inspect.currentframe",
    "get_ipython": "IPython.get_ipython",
    "getclosurevars": "inspect.getclosurevars",
    "getattr_static": "inspect.getattr_static",
    "get_type_hints": "typing.get_type_hints",
    "getouterframes": "inspect.getouterframes",
    "import_module": "importlib.import_module",
    "methodcaller": "operator.methodcaller",
    "read_pickle": "pandas.read_pickle",
    "runstring": "numpy.testing.runstring",
    "module_from_spec": "importlib.util.module_from_spec",
    "spec_from_file_location": "importlib.util.spec_from_file_location",
}

# Attributes of any object.
ATTRIBUTES = {
    **dict.fromkeys(
        (
            *("InteractiveShell", "_ip", "ast_transformers", "input_transformer_manager"),
            *("input_transformers_cleanup", "input_transformers_post", "magics_manager"),
            *("register_magic_function", "run_cell", "run_cell_async", "run_cell_magic"),
            *("run_line_magic", "safe_execfile", "user_global_ns", "user_ns"),
        ),
        "it leads to IPython's shell, which runs code; write magics as %name",
    ),
    "__builtins__": "use the builtin functions by their names",
    "__closure__": _FRAME,
    "__code__": _MAKES,
    "__getattribute__": _NAMES,
    "__globals__": _FRAME,
    "__loader__": _LOADS,
    "__match_args__": _NAMES,
    "__self__": "it may be the module of a builtin function; keep the object itself in a variable",
    "__spec__": _LOADS,
    "__subclasses__": "it gives classes of the whole interpreter; write the class itself",
    "ag_code": _MAKES,
    "ag_frame": _FRAME,
    "codeobj": _MAKES,
    "cr_code": _MAKES,
    "cr_frame": _FRAME,
    "exec_module": _LOADS,
    "f_back": _FRAME,
    "f_builtins": _FRAME,
    "f_code": _MAKES,
    "f_globals": _FRAME,
    "f_locals": _FRAME,
    "gi_code": _MAKES,
    "gi_frame": _FRAME,
    "load_module": _LOADS,
    "source_to_code": _MAKES,
    "tb_frame": _FRAME,
}


def canonical(name):
    """Returns a dotted name with its module under the name that rules use."""
    root, dot, rest = name.partition(".")
    return f"{SAME_MODULES.get(root, root)}{dot}{rest}"
