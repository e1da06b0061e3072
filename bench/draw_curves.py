"""Draw the curves that come as JSON on standard input, as SVG files in a directory."""

import json
import os
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter


def main():
    plt.rcParams.update(
        {
            "svg.hashsalt": "bench",  # the same curve gives the same file
            "svg.fonttype": "none",  # text as text: a quarter of the size
            "font.size": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.3,
        }
    )
    for curve in json.load(sys.stdin):
        draw(curve, os.path.join(sys.argv[1], curve["file"]))


def draw(curve, path):
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for line in curve["lines"]:
        draw_line(axes, line)
    for axis, name in ((axes.xaxis, "x"), (axes.yaxis, "y")):
        axis.set_label_text(curve[name]["label"])
        if curve[name]["log"]:
            getattr(axes, f"set_{name}scale")("log")
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    if not curve["y"]["log"]:
        axes.set_ylim(bottom=0)
    axes.set_title(curve["title"])
    axes.legend(fontsize=9)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_line(axes, line):
    style = {"linestyle": "--" if line["dashed"] else "-", "linewidth": 1.6}
    if line["mark"]:
        style["marker"] = "o"
    (drawn,) = axes.plot(line["x"], line["y"], label=line["name"], **style)
    if "low" in line:
        color = drawn.get_color()
        axes.fill_between(line["x"], line["low"], line["high"], color=color, alpha=0.2, linewidth=0)


if __name__ == "__main__":
    main()
