"""What the figures section defines in its session."""

import gc
import time

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(1)
x = np.linspace(0, 10, 200)
points = rng.normal(size=(2, 10_000))
shades = rng.random(10_000)
saved = 0


def lines():
    figure, axes = plt.subplots()
    axes.plot(x, np.sin(x), label="sine")
    axes.plot(x, np.cos(x), label="cosine")
    axes.set_title("Two lines")
    axes.legend()
    return figure


def scatter():
    figure, axes = plt.subplots()
    axes.scatter(*points, c=shades, s=8, alpha=0.5)
    axes.set_title("Ten thousand points")
    return figure


def timed_show(make):
    """Return the seconds that showing a new figure takes."""
    make()
    gc.collect()
    began = time.perf_counter()
    plt.show()
    return time.perf_counter() - began


def timed_savefig(make):
    """Return the seconds that saving a new figure to a new file takes.

    As a picture with a tight box, which is what is shown; and into an open file, which
    isn't shown when the figure is closed.
    """
    global saved
    saved += 1
    figure = make()
    gc.collect()
    began = time.perf_counter()
    with open(f"saved-{saved}.png", "wb") as file:
        figure.savefig(file, bbox_inches="tight")
    took = time.perf_counter() - began
    plt.close(figure)
    return took
