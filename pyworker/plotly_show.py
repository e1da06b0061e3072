"""Figures of plotly: what fig.show() does, and a figure as a page and as an image.

fig.show() asks plotly's table of renderers, which would open a browser or need a
notebook. Each name in the table stands for ours instead, by the interface that
plotly has for this, so that fig.show("browser") and a default that code has chosen
come here too. The table is changed when it is there: now, or, as nothing of plotly
may be imported yet, by an import finder that waits for it.
"""

import os
import sys

from . import late
from .artifact_pages import counted

_TABLE = "plotly.io._renderers"
_DRAWING_SECONDS = 20  # in which an image must be there
_MOST_TRACES = 12  # that are described

# In a process of its own: kaleido starts a browser, which may hang, and would leave
# threads and children behind that keep a session from being copied.
_DRAW = """
import json, sys
import plotly.io
figure = json.load(sys.stdin)
sys.stdout.buffer.write(plotly.io.to_image(figure, format="png", validate=False))
"""

_show = None  # what takes the dict of a figure that is shown
_drawing_failed = False  # once is enough


def install(show):
    """Has figures that are shown handed to show, as dicts."""
    global _show
    _show = show
    if _TABLE in sys.modules:
        _stand_in(sys.modules[_TABLE])
    elif _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)


class _Watcher:
    """An import finder that acts after the import of the table. It finds nothing itself."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != _TABLE:
            return None
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    _act_after(spec.loader)
                return spec
        return None


_watcher = _Watcher()


def _act_after(loader):
    execute = loader.exec_module

    def exec_module(module):
        del loader.exec_module  # the class's own method shows again
        execute(module)
        if _watcher in sys.meta_path:
            sys.meta_path.remove(_watcher)
        _stand_in(module)

    loader.exec_module = exec_module


def _stand_in(module):
    """Puts our renderer under every name of the table, once."""
    renderers = getattr(module, "renderers", None)
    if renderers is None or "understudy" in renderers:  # None: its import is under way
        return

    class Renderer(module.ExternalRenderer):
        def render(self, fig_dict):
            _show(fig_dict)

    ours = Renderer()
    for name in ("understudy", *renderers):
        renderers[name] = ours
    renderers.default = "understudy"


def is_figure(value):
    """Says whether a value is a figure of plotly."""
    base = getattr(sys.modules.get("plotly.basedatatypes"), "BaseFigure", None)
    return base is not None and isinstance(value, base)


def page(figure):
    """Returns a figure, or its dict, as a page that needs no network, and as JSON."""
    import plotly.io

    text = plotly.io.to_json(figure, validate=False)
    return plotly.io.to_html(figure, include_plotlyjs=True, full_html=True, validate=False), text


def draw(text):
    """Returns a figure's JSON as PNG, None where kaleido is not there or does not work."""
    global _drawing_failed
    if _drawing_failed or not _has_kaleido():
        return None
    subprocess = late.load("subprocess")
    try:
        with subprocess.Popen(
            [sys.executable, "-c", _DRAW],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                png, _ = process.communicate(text.encode(), timeout=_DRAWING_SECONDS)
            except BaseException:
                _end(process)
                raise
    except (OSError, subprocess.SubprocessError):
        png = b""
    if png[:4] != b"\x89PNG":
        _drawing_failed = True
        return None
    return png


def _end(process):
    """Ends the drawing, with the browser that it has started."""
    try:
        os.killpg(process.pid, 9)
    except (AttributeError, OSError):
        process.kill()


def _has_kaleido():
    if "kaleido" in sys.modules:
        return True
    try:
        return late.load("importlib.util").find_spec("kaleido") is not None
    except (ImportError, ValueError):
        return False


def brief(figure):
    """Returns a figure in a few words; its own text fills pages."""
    return f"<plotly {type(figure).__name__}: {counted(len(figure.data), 'trace')}>"


def describe(figure):
    """Returns the title of a figure or its dict, and what is drawn in it."""
    fields = figure if isinstance(figure, dict) else figure.to_dict()
    title = fields.get("layout", {}).get("title")
    title = title.get("text") if isinstance(title, dict) else title
    traces = fields.get("data", [])
    lines = [_describe_trace(trace) for trace in traces[:_MOST_TRACES]]
    if (more := len(traces) - _MOST_TRACES) > 0:
        lines.append(f"and {more} more")
    return "\n".join(filter(None, [title and str(title)[:200], "; ".join(lines)]))


def _describe_trace(trace):
    text = str(trace.get("type", "scatter"))
    if name := trace.get("name"):
        text += f' "{name!s:.60}"'
    lengths = filter(None, (_length(trace.get(key)) for key in ("y", "x", "values", "z", "lat")))
    count = next(lengths, 0)
    return f"{text} ({counted(count, 'point')})" if count else text


def _length(values):
    """Returns how many values plotly has in a list, an array, or the base64 of one."""
    if isinstance(values, dict):
        try:
            encoded, size = values["bdata"], int(values["dtype"][1:])
            return (len(encoded) * 3 // 4 - encoded.count("=", -2)) // size
        except (KeyError, TypeError, ValueError):
            return 0
    return len(values) if hasattr(values, "__len__") and not isinstance(values, str) else 0
