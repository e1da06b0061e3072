"""Libraries that would open a window, need a browser or a kernel: made to show here.

Each is met when it is imported; the zygote may have done so already.
"""

from pyworker import lazy_import
from pyworker.imports import when_imported

from . import images
from .publisher import PLOTLY, VALUE

_WIDTH = 200  # characters of a table of pandas
_COLUMNS = 20  # of one, as in Jupyter
_DRAW_CHART = """
import vl_convert
sys.stdout.buffer.write(vl_convert.vegalite_to_png(sys.stdin.read(), scale=1.5))
"""


def install(session):
    """Has libraries show by a session what they would show elsewhere."""
    when_imported("PIL.ImageShow", lambda module: _show_images(module, session))
    when_imported("pandas", _widen)
    when_imported("altair", _draw_charts)
    when_imported("plotly.io._renderers", lambda module: _show_figures(module, session))
    when_imported("tqdm.notebook", _print_bars)
    when_imported("ipywidgets.widgets.widget_output", lambda module: _hold(module, session))


def _show_images(module, session):
    class Viewer(module.Viewer):
        def show(self, image, **_):
            session.outlet.publish({"text/plain": repr(image), VALUE: image})
            return 1

    module.register(Viewer(), 0)


def _widen(pandas):
    """Has tables be as wide as they need: pandas takes us for a terminal of 80 characters."""
    for option, default, ours in (("width", 80, _WIDTH), ("max_columns", 0, _COLUMNS)):
        if pandas.get_option(f"display.{option}") == default:
            pandas.set_option(f"display.{option}", ours)


def _draw_charts(altair):
    """Has altair make pictures where it can: its pages need a browser."""
    pages = altair.renderers.get()

    def render(spec, **options):
        png = None
        if images.can_draw_with("vl_convert"):
            png, _ = images.draw_outside(_DRAW_CHART, lazy_import.load("json").dumps(spec))
        return pages(spec, **options) if png is None else {"image/png": png}

    altair.renderers.register("understudy", render)
    altair.renderers.enable("understudy")


def _show_figures(module, session):
    """Has every name in plotly's table of renderers stand for us: they need a browser."""

    class Renderer(module.ExternalRenderer):
        def render(self, fig_dict):
            session.outlet.publish({PLOTLY: fig_dict})

    ours = Renderer()
    for name in ("understudy", *module.renderers):
        module.renderers[name] = ours
    module.renderers.default = "understudy"


def _print_bars(module):
    """Has tqdm.notebook print its bars as tqdm does: there is nobody to draw widgets."""
    from tqdm import std

    class tqdm_notebook(std.tqdm):
        def __init__(self, *args, display=True, **options):
            super().__init__(*args, **options if display else {**options, "disable": True})

        def display(self, msg=None, pos=None, close=False, bar_style=None, check_delay=True):
            if not close:
                super().display(msg, pos)

    module.tqdm_notebook = module.tqdm = tqdm_notebook
    module.tnrange = module.trange = lambda *ends, **options: tqdm_notebook(range(*ends), **options)


def _hold(module, session):
    """Has clear_output() in an Output widget leave the session's output alone."""
    output = module.Output
    enter, leave = output.__enter__, output.__exit__

    def held(self):
        session.outlet.held += 1
        return enter(self)

    def released(self, *error):
        session.outlet.held -= 1
        return leave(self, *error)

    output.__enter__, output.__exit__ = held, released
