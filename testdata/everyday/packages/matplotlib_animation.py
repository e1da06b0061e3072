# matplotlib: an animation as GIF.
# needs: matplotlib
import os

import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter

fig, axis = plt.subplots()
(line,) = axis.plot([0, 1], [0, 1])
moving = FuncAnimation(fig, lambda i: line.set_data([0, 1], [0, i]), frames=3)
moving.save("moving.gif", writer=PillowWriter())
assert os.path.getsize("moving.gif") > 1000
print("ok")
