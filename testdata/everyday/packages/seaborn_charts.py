# seaborn: what its examples do, without its data sets, which need a network.
# needs: seaborn
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

sns.set_theme()
table = pd.DataFrame(np.random.default_rng(1).normal(size=(200, 3)), columns=list("abc"))
sns.pairplot(table).savefig("pairs.png")
sns.heatmap(table.corr(), annot=True)
plt.savefig("heat.svg")
plt.show()
assert os.path.getsize("pairs.png") > 10_000
print("ok")
