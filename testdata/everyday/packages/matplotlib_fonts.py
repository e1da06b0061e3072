# matplotlib: several fonts, formulas, other alphabets, all formats of files, its cache.
# needs: matplotlib
# brief
import os

import matplotlib
import matplotlib.pyplot as plt
from matplotlib import font_manager

for family in "DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral", "cmr10":
    assert os.path.exists(font_manager.findfont(family, fallback_to_default=False))
assert font_manager.findSystemFonts() is not None
assert os.access(matplotlib.get_cachedir(), os.W_OK)
fig, axes = plt.subplots(1, 3)
for axis, family in zip(axes, ["DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono"]):
    axis.set_title(r"Größe $\frac{\alpha}{\sqrt{2}}$ Ж", family=family)
    axis.plot([1, 3, 2])
for kind in "png", "pdf", "svg", "jpg", "eps", "webp":
    fig.savefig(f"figure.{kind}")
    assert os.path.getsize(f"figure.{kind}") > 1000
with plt.style.context("ggplot"):
    plt.hist([1, 2, 2, 3])
plt.show()
print("ok")
