"""What the checker knows of Python: modules, functions that are the same, and routes.

A *route* is a way to a function or a module that its name does not show: eval,
frames, the table of loaded modules. While a rule about functions, modules or
attributes is on, routes are refused, or the rule would mean nothing. Each comes
with what to write instead.
"""


def _names(text):
    """Returns the set of what a text lists."""
    return frozenset(text.split())


def _pairs(text):
    """Returns a dict of what a text lists as KEY=VALUE."""
    return dict(pair.split("=") for pair in text.split())


def _advised(advice):
    """Returns a dict of names to advice, of one of advice to a text that lists names."""
    return {name: text for text, names in advice.items() for name in names.split()}


# Modules that are the same one, or its half in C.
SAME_MODULES = _pairs(
    """__builtin__=builtins _ctypes=ctypes _frozen_importlib=importlib._bootstrap
    _frozen_importlib_external=importlib._bootstrap_external _imp=imp _io=io
    _multiprocessing=multiprocessing _operator=operator _pickle=pickle
    _posixsubprocess=subprocess _pyio=io _signal=signal _socket=socket _winapi=subprocess
    cPickle=pickle nt=os ntpath=os.path posix=os posixpath=os.path"""
)

# Functions that are the same one under another name.
SAME_FUNCTIONS = _pairs(
    """io.open=builtins.open tokenize._builtin_open=builtins.open
    bz2._builtin_open=builtins.open lzma._builtin_open=builtins.open
    importlib.__import__=builtins.__import__ os.unlink=os.remove"""
)

# What a rule for one function blocks besides: the same deed by a close relative.
RELATIVES = {
    "builtins.open": (
        *("io.FileIO", "io.open_code", "codecs.open", "os.open", "os.fdopen", "tokenize.open"),
        *("pathlib.*Path().open", "pathlib.*Path().read_*", "pathlib.*Path().write_*"),
    ),
    "builtins.input": ("sys.stdin",),
}

# Modules that many others hold as an attribute: x.os is taken for the module os.
LEAKS = _names("os sys subprocess shutil builtins importlib posix pty")

# Modules that libraries hold as well: behind a library's name, as numpy.ctypeslib.ctypes,
# that of a refused one is taken for it. Behind an unknown object it may be anything: an
# array has an attribute ctypes. Names that libraries give to things of their own, as
# scipy.signal or numpy.random, are not here.
HELD = _names(
    """asyncio bz2 cffi cloudpickle codecs ctypes dbm dill distutils doctest ensurepip
    faulthandler fcntl fileinput ftplib gzip imaplib linecache lzma mailbox marshal mmap msvcrt
    multiprocessing nntplib pathlib pdb pickle pkgutil poplib runpy shelve smtplib socket
    socketserver sqlite3 tarfile telnetlib tempfile termios tkinter urllib venv webbrowser
    winreg xmlrpc zipfile zipimport"""
)

# Attributes that have the name of a module and are none, or another one.
NO_MODULES = _names(
    """ast.operator datetime.time email.message xml.dom.pulldom numpy.ndarray.ctypes
    six.moves.urllib torch.multiprocessing"""
)

# The names under which modules are usually imported.
USUAL_NAMES = _pairs(
    """ET=xml.etree.ElementTree alt=altair dd=dask.dataframe dt=datetime
    go=plotly.graph_objects jnp=jax.numpy mp=multiprocessing mpl=matplotlib np=numpy
    nx=networkx op=operator osp=os.path pd=pandas pkl=pickle pl=polars plt=matplotlib.pyplot
    px=plotly.express sm=statsmodels.api sns=seaborn sp=scipy tf=tensorflow xr=xarray"""
)

_RUNS = "it runs code that can't be checked; write that code itself"
_LOADS = "it gives modules that can't be seen; write import NAME"
_PICKLE = "what it reads may call any function; use CSV, JSON, Parquet or NumPy files"
_FRAME = "it leads to every variable of the interpreter; pass what is needed as an argument"
_MAKES = "it makes functions from code that can't be checked; write them with def"
_PROGRAMS = "it runs other programs, or changes files, without a name that a rule could know"
_TEXT = "it evaluates text; write the annotation itself"
_NAMES = "it takes attributes by name, where a check can't see them; write them with a dot"
_LIBRARIES = "it calls any function of any library"
_OWN = "it belongs to the interpreter"
_BUILTINS = "use the builtin functions by their names"
_MEMBERS = "it gives what a module holds; use dir(x), and x.NAME"

# Modules that are routes as a whole.
MODULES = _advised(
    {
        _RUNS: """IPython.core IPython.extensions IPython.lib IPython.terminal IPython.testing
            IPython.utils _interpreters _xxsubinterpreters bdb code codeop
            concurrent.interpreters doctest distutils.core pdb rlcompleter runpy site test
            trace""",
        "use the variables by their names": "__main__",
        _NAMES: "_string",
        _MAKES: "_testcapi _testinternalcapi marshal",
        _LIBRARIES: "cffi ctypes",
        _PICKLE: "cloudpickle dill multiprocessing.connection multiprocessing.reduction",
        _PROGRAMS: """distutils.ccompiler distutils.cmd distutils.command distutils.dir_util
            distutils.file_util distutils.spawn multiprocessing.util numpy.distutils
            setuptools._distutils""",
        _LOADS: """imp importlib._bootstrap importlib._bootstrap_external importlib.abc
            importlib.machinery pkg_resources unittest.mock zipimport""",
        "it calls what its configuration names; use logging.basicConfig": "logging.config",
        _OWN: "matplotlib_capture pyworker",
        "write %pip install NAME, where that is allowed": "pip",
        "use help(NAME)": "pydoc",
    }
)

# Functions, by what they resolve to.
FUNCTIONS = _advised(
    {
        f"{_RUNS} (for literals: ast.literal_eval)": "builtins.eval",
        f"{_RUNS} (df.eval and df.query take constant text)": "pandas.eval",
        _RUNS: """builtins.exec builtins.compile builtins.execfile builtins.breakpoint
            builtins.get_ipython cProfile.run cProfile.runctx cProfile.Profile().run
            profile.run profile.runctx IPython.InteractiveShell IPython.embed
            IPython.embed_kernel IPython.extract_module_locals IPython.get_ipython
            IPython.start_ipython IPython.start_kernel numpy.testing.measure
            numpy.testing.rundocs numpy.testing.runstring sys.breakpointhook
            sys.displayhook.shell""",
        _BUILTINS: "builtins.__builtins__",
        "code would be read in another way from then on": "__future__.barry_as_FLUFL",
        _LOADS: """builtins.__loader__ builtins.__spec__ importlib.metadata.EntryPoint
            importlib.metadata.entry_points importlib.util.module_from_spec
            importlib.util.spec_from_file_location importlib.util.spec_from_loader
            importlib.util.LazyLoader inspect.getmodule pkgutil.find_loader
            pkgutil.get_importer pkgutil.get_loader pkgutil.resolve_name sys.meta_path
            sys.path_hooks sys.path_importer_cache""",
        _MAKES: """copyreg.__newobj__ dis.Bytecode types.CodeType types.FunctionType
            types.LambdaType""",
        _FRAME: """gc.get_objects gc.get_referents gc.get_referrers inspect.currentframe
            inspect.getclosurevars inspect.getinnerframes inspect.getouterframes inspect.stack
            inspect.trace sys._current_exceptions sys._current_frames sys._getframe
            sys.setprofile sys.settrace threading.setprofile threading.settrace""",
        _NAMES: "inspect.getattr_static string.Formatter",
        _TEXT: """inspect.get_annotations typing.ForwardRef typing.evaluate_forward_ref
            typing.get_type_hints annotationlib.ForwardRef annotationlib.get_annotations""",
        _MEMBERS: "inspect.getmembers inspect.getmembers_static",
        _PICKLE: """joblib.load multiprocessing.Pipe pandas.read_pickle
            pandas.io.pickle.read_pickle pandas.io.api.read_pickle pickle.Unpickler
            pickle._Unpickler pickle._load pickle._loads pickle.load pickle.loads shelve.open
            shelve.DbfilenameShelf shelve.Shelf""",
        _PROGRAMS: "uuid._get_command_stdout",
    }
)

# Functions that must be called where they are named, so that a check sees with what.
DIRECT = _names(
    """builtins.__import__ builtins.delattr builtins.getattr builtins.globals builtins.locals
    builtins.setattr builtins.vars importlib.import_module operator.attrgetter
    operator.methodcaller timeit.Timer timeit.repeat timeit.timeit"""
)

# What gives the variables by their names, and the other tables of modules or their contents.
NAMESPACES = _names("builtins.globals() builtins.locals() builtins.vars()")
TABLES = NAMESPACES | {"sys.modules"}

# Names that nothing else has, wherever they stand behind a dot: what they are.
_DISTINCT = _names(
    """types.CodeType types.FunctionType types.LambdaType pickle.Unpickler sys._current_frames
    sys._getframe uuid._get_command_stdout operator.attrgetter operator.methodcaller
    inspect.currentframe IPython.get_ipython inspect.getclosurevars inspect.getattr_static
    typing.get_type_hints inspect.getouterframes importlib.import_module pandas.read_pickle
    numpy.testing.runstring importlib.util.module_from_spec
    importlib.util.spec_from_file_location"""
)
DISTINCT = {path.rpartition(".")[2]: path for path in _DISTINCT} | {
    "_builtin_open": "builtins.open"
}

# Attributes of any object.
ATTRIBUTES = _advised(
    {
        "it leads to IPython's shell, which runs code; write magics as %name": """
            InteractiveShell _ip ast_transformers input_transformer_manager
            input_transformers_cleanup input_transformers_post magics_manager
            register_magic_function run_cell run_cell_async run_cell_magic run_line_magic
            safe_execfile user_global_ns user_ns""",
        "it may be the module of a builtin function; keep the object itself in a variable": (
            "__self__"
        ),
        "it gives classes of the whole interpreter; write the class itself": "__subclasses__",
        _BUILTINS: "__builtins__",
        _FRAME: """__closure__ __globals__ ag_frame cr_frame f_back f_builtins f_globals f_locals
            gi_frame tb_frame""",
        _MAKES: "__code__ ag_code codeobj cr_code f_code gi_code source_to_code",
        _NAMES: "__getattribute__ __match_args__",
        _LOADS: "__loader__ __spec__ exec_module load_module",
    }
)


def canonical(name):
    """Returns a dotted name with its module under the name that rules use."""
    root, dot, rest = name.partition(".")
    return f"{SAME_MODULES.get(root, root)}{dot}{rest}"
