"""What can be done about a module that is not there: the line that installs it here."""

import os
import sys

from pyworker import lazy_import

# The distributions of well-known modules that have another name.
_RENAMED = """
attr=attrs bs4=beautifulsoup4 Bio=biopython Crypto=pycryptodome cv2=opencv-python-headless
dateutil=python-dateutil distutils=setuptools docx=python-docx dotenv=python-dotenv
faiss=faiss-cpu fitz=pymupdf git=GitPython jose=python-jose jwt=pyjwt magic=python-magic
mpl_toolkits=matplotlib MySQLdb=mysqlclient OpenSSL=pyopenssl osgeo=gdal PIL=pillow
pkg_resources=setuptools pptx=python-pptx psycopg2=psycopg2-binary
rest_framework=djangorestframework serial=pyserial skimage=scikit-image sklearn=scikit-learn
slugify=python-slugify umap=umap-learn usb=pyusb win32api=pywin32 wx=wxPython yaml=pyyaml
zmq=pyzmq"""
_DISTRIBUTIONS = dict(pair.split("=") for pair in _RENAMED.split())
# What Python itself had once, and names that many distributions share: no distribution of
# such a name is what was meant.
_OTHERS = """
aifc asynchat asyncore audioop azure cgi cgitb chunk crypt google imghdr imp lib2to3 mailcap
msilib nis nntplib ossaudiodev pipes smtpd sndhdr spwd sunau telnetlib uu xdrlib zope"""
_NO_DISTRIBUTIONS = frozenset(_OTHERS.split())
_DEEPEST = 5  # exceptions that are followed to the one that names the module
_NAME = ImportError.name.__get__


def advice(error, session):
    """Returns a sentence for the reader of an import's failure, "" if there is none to give."""
    name = _wanted(error)
    package = _DISTRIBUTIONS.get(name, "")
    if name == "mcptools":  # a stranger's package has that name
        return "mcptools is there where the server was started with --mcp: ask the user"
    if server := _server(error):
        return f"dir({server}) has the names of its tools, mcptools.search(words) finds one"
    if not name or name in _NO_DISTRIBUTIONS or name.startswith("_"):
        return ""
    if name in sys.stdlib_module_names and not package:
        return ""  # of another version or system
    place = session.environment
    theirs = _is_in(place.own, name)
    if not theirs and not package and (near := _similar(name, session.workdir.path)):
        return f"{near} is in the working directory: was that meant by {name!r}?"
    what = f"{name} (of {package})" if package else name
    remedy = _remedy(package or name, place, session.packages)
    said = f"{what} is not installed in {place.name}: {remedy}"
    if theirs:
        said += "; an interpreter made with manage_interpreters, operation "
        said += '"create", python "own", has it'
    elif not package:
        said += ", if its package has that name"  # a stranger may have taken one that nobody has
    return said


def _wanted(error):
    """Returns the module that an exception says is missing, if it is one at the top.

    A library may say it in its own words, in an ImportError that was raised from this.
    """
    for _ in range(_DEEPEST):
        if not isinstance(error, ImportError):
            return ""
        if isinstance(error, ModuleNotFoundError):
            name = _NAME(error)
            return name if type(name) is str and name.isidentifier() else ""
        error = error.__cause__ or error.__context__
    return ""


def _server(error):
    """Returns the module of another server's tools that lacks a name, "" if it is none."""
    name = _NAME(error) if isinstance(error, ImportError) else None
    return name if type(name) is str and name.startswith("mcptools.") else ""


def _similar(name, folder):
    """Returns the module in a folder whose name looks like the one that is not there."""
    try:
        entries = os.listdir(folder)
    except OSError:
        return ""
    modules = {entry.removesuffix(".py"): entry for entry in entries if entry.endswith(".py")}
    near = lazy_import.load("difflib").get_close_matches(name, modules, 1, 0.8)
    return modules[near[0]] if near else ""


def _is_in(environment, name):
    """Says whether the environment in a folder has a module."""
    if not environment:
        return False
    below = ("Lib",) if os.name == "nt" else ("lib", "python3*")
    sites = lazy_import.load("glob").glob(os.path.join(environment, *below, "site-packages"))
    paths = (os.path.join(site, name + ending) for site in sites for ending in ("", ".py"))
    return any(map(os.path.exists, paths))


def _remedy(package, place, packages):
    line = f"%pip install {package}"
    if place.no_pip:
        return "the policy of this server lets nothing be installed here"
    if packages.confined:
        if packages.hosts is not None and _unreached(packages.hosts):
            return about_network(packages.hosts)
        return f"{line} adds it for this interpreter and its branches"
    if place.uv and not place.no_shell and lazy_import.load("shutil").which("uv"):
        return f"!uv add {package} adds it there and to this project's pyproject.toml"
    installing = lazy_import.load_own("shell.installing")
    if installing.is_closed():
        if place.install:
            operation = f'manage_interpreters, operation "install", packages ["{package}"]'
            return f"{operation} adds it for this interpreter and its branches"
        said = "the system keeps others from installing there; "
        return said + 'ask the user to run "understudy setup"'
    if not installing.tool(place):
        return installing.NO_TOOL
    return f"{line} adds it there, for {place.shared_by}"


def about_network(hosts):
    """Says what the network has to do with a failure, and what the server would need."""
    unreached = _unreached(hosts)
    if not hosts:
        return (
            "the sandbox has no network, so only files can be installed: for an index of packages "
            f"ask the user to start the server with --allow-net {','.join(unreached)}"
        )
    said = f"the sandbox reaches no host but {', '.join(hosts)} (--allow-net)"
    if unreached:
        more = ",".join([*hosts, *unreached])
        said += f"; for the index of packages ask the user to start it with --allow-net {more}"
    return said


def _unreached(hosts):
    """Returns the hosts that pip and uv ask, as --allow-net takes them, without these."""
    asked = ["pypi.org", "files.pythonhosted.org"]
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        address = os.environ.get(name, "").rpartition("://")[2].partition("/")[0]
        if address:
            asked = [address.rpartition("@")[2]]
            break
    matches = lazy_import.load("fnmatch").fnmatchcase
    listed = [host.lower().removesuffix(":443") for host in hosts]
    wanted = {host: host.lower().removesuffix(":443") for host in asked}
    return [host for host in asked if not any(matches(wanted[host], each) for each in listed)]
