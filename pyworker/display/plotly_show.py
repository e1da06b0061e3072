"""Figures of plotly: what fig.show() does, and a figure as a page and as an image.

fig.show() asks plotly's table of renderers, which would open a browser or need a
notebook. Each name in the table stands for ours instead, by the interface that
plotly has for this, so that fig.show("browser") and a default that code has chosen
come here too.
"""

import sys

from pyworker.imports import when_imported

from . import outside
from .pages import counted

UNSEEN = (
    "you can't see this page, the user can: draw it with matplotlib to see it, "
    "or %pip install kaleido, which needs Chrome"
)
_TABLE = "plotly.io._renderers"
_MOST_TRACES = 12  # that are described
_TRACES = "understudy: the traces"  # stands for them while the page around them is made
_LARGEST = 50_000_000  # bytes of traces
_VALUE = 8  # bytes of a number in JSON, or so
_SAMPLE = 100  # values of a list that are measured
_DEPTH = 6  # how deep a figure's dict is looked into

_DRAW = """
import plotly.io
figure = json.load(sys.stdin)
sys.stdout.buffer.write(plotly.io.to_image(figure, format="png", validate=False))
"""

_drawing_failed = False  # once is enough: each try starts a browser
_show = None  # what takes the dict of a figure that is shown


def install(show):
    """Has figures that are shown handed to show, as dicts."""
    global _show
    _show = show
    when_imported(_TABLE, _stand_in)


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


def fields(figure):
    """Returns the dict of a figure, or of one that is shown."""
    return figure if isinstance(figure, dict) else figure.to_dict()


def serialize(figure):
    """Returns the traces of a figure's dict as JSON, and all of it.

    Raises ValueError for one that is much too large for a page: to write it can't be
    interrupted.
    """
    from plotly.io.json import to_json_plotly

    if (weight := _weight(figure, 0)) > _LARGEST:
        raise ValueError(
            f"its page would have some {weight // 1_000_000} MB, more than {_LARGEST // 1_000_000} "
            "MB, the limit of an artifact; show fewer points"
        )
    traces = to_json_plotly(figure.get("data", []))
    parts = [f'"data":{traces}']
    for key in ("layout", "frames"):
        if figure.get(key):
            parts.append(f'"{key}":{to_json_plotly(figure[key])}')
    return traces, "{" + ",".join(parts) + "}"


def page(figure, traces):
    """Returns the pieces of a page that needs no network, of a figure's dict and its traces."""
    import plotly.io
    from plotly.io.json import to_json_plotly

    empty = {**figure, "data": [_TRACES]}
    text = plotly.io.to_html(empty, include_plotlyjs=True, full_html=True, validate=False)
    head, _, tail = text.partition(to_json_plotly([_TRACES]))
    return head, traces, tail


def _weight(value, depth):
    """Returns about how many bytes the values of a figure's dict have as JSON."""
    if depth > _DEPTH:
        return 0
    if isinstance(value, dict):
        return sum(_weight(each, depth + 1) for each in value.values())
    if isinstance(value, str):
        return len(value)
    if isinstance(value, (list, tuple)):
        if value and isinstance(value[0], (dict, list, tuple)):
            return sum(_weight(each, depth + 1) for each in value)
        return len(value) * _mean(value[:: len(value) // _SAMPLE + 1])
    return getattr(value, "size", 0) * _VALUE if hasattr(value, "dtype") else 0


def _mean(values):
    """Returns about how many bytes one of some values has as JSON, with its comma."""
    lengths = [len(str(v)) + 1 if type(v) in (int, float, str) else _VALUE for v in values]
    return sum(lengths) // len(lengths) if lengths else 0


def draw(text, complain):
    """Returns a figure's JSON as PNG, None where kaleido does not work, which complain is told."""
    global _drawing_failed
    if _drawing_failed:
        return None
    png, why = outside.draw(_DRAW, text)
    if png is None:
        _drawing_failed = True
        complain(
            f"plotly's figures are kept as pages without an image from now on: kaleido {why}; "
            "draw with matplotlib what you want to see"
        )
    return png


def can_draw():
    """Says whether images may be made: kaleido is there and has not failed."""
    return not _drawing_failed and outside.is_there("kaleido")


def brief(figure):
    """Returns a figure in a few words; its own text fills pages."""
    return f"<plotly {type(figure).__name__}: {counted(len(figure.data), 'trace')}>"


def describe(figure):
    """Returns the title of a figure's dict, and what is drawn in it."""
    title = figure.get("layout", {}).get("title")
    title = title.get("text") if isinstance(title, dict) else title
    traces = figure.get("data", [])
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
