"""What a figure is called."""

MAX_LENGTH = 200  # characters


def title_of(figure, manager=None):
    """The figure's title as one line of plain text, "" if it has none.

    The first of: the figure's suptitle, its subfigures' suptitles, its axes'
    titles, the window's title where the user set one, the figure's label.
    """
    for titles in (
        _suptitles([figure]),
        _suptitles(getattr(figure, "subfigs", [])),
        _axes_titles(figure),
        [_window_title(manager)],
        [figure.get_label()],
    ):
        title = "; ".join(filter(None, map(_one_line, titles)))
        if title:
            return _shorten(title)
    return ""


def _suptitles(figures):
    # get_suptitle() came with matplotlib 3.8.
    texts = (getattr(figure, "_suptitle", None) for figure in figures)
    return [text.get_text() for text in texts if text is not None]


def _axes_titles(figure):
    return [
        axes.get_title(loc=side) for axes in figure.axes for side in ("left", "center", "right")
    ]


def _window_title(manager):
    title = manager.get_window_title() if manager is not None else ""
    return "" if title == f"Figure {getattr(manager, 'num', '')}" else title


def _one_line(text):
    text = " ".join(str(text or "").split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _shorten(text):
    if len(text) <= MAX_LENGTH:
        return text
    return text[: MAX_LENGTH - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"
