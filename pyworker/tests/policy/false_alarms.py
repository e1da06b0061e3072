"""What people write, which passes under the shipped lists or the policy beside it."""
# ruff: noqa: E501

from pyworker.tests.policy.bypasses import CLOSED, LISTED, NO_COMPILE, NO_OS, NO_READ, OPEN, fine

# (policy or None for the shipped lists, code)
FALSE_ALARMS = [
    *fine(OPEN, r"""
import re; re.compile('x')
"""),
    *fine(NO_COMPILE, r"""
import re; p = re.compile('x')
from re import compile\ncompile('x')
model.compile(optimizer='adam', loss='mse')
def step(input): return input + 1
input = torch.rand(3)\nprint(input.shape)
for input, target in batches:\n    loss(model(input), target)
if ready:\n    input = 3\n    print(input)
"""),
    *fine(OPEN, r"""
x.open()
from PIL import Image; im = Image.open('x.png')
print('open("x")', '!ls', '__import__')
# open('x')\nx = 1
df['open'] = df.open.shift(1)
df.plot(open='a')
open = df['open']\nclose = df['close']\nprint((close - open).mean())
class Candle:\n    open: float\n    close: float
def f(open, close): return close - open
[open + 1 for open in opens]
for open, close in rows:\n    print(open, close)
with a as open:\n    print(open)
def f():\n    open = 1\n    return lambda: open
import os\nos.getcwd()\nos.path.join('a', 'b')\nos.environ['A'] = 'b'\nos.listdir('.')
import os\nos.makedirs('out', exist_ok=True)
from os import path, getcwd
import os.path as osp\nosp.join('a', 'b')
os.path.exists('x')
import os\nhasattr(os, 'fork')
hasattr(f, '__code__') and hasattr(x, '__self__')
getattr(os, 'cpu_count')()
def f():\n    import os as o\n    return o.getcwd()
import sys\nsys.version_info >= (3, 10)\nprint(sys.argv, file=sys.stderr)
import sys\n'pandas' in sys.modules
import sys\nsys.path.append('lib')\nsys.getsizeof(x)
import io\nbuffer = io.BytesIO()\nio.StringIO('a')
import ast\nast.literal_eval('[1]')
'df' in globals()
globals()['x'] = 1\nglobals().get('df')
'{a} {b}'.format(**locals())
'{0.real} {1[0]}'.format(1, [2])
import pickle\npickle.dumps(x)
import gc\ngc.collect()
import types\nisinstance(x, types.GeneratorType)\ntypes.SimpleNamespace(a=1)
import inspect\ninspect.signature(f)\ninspect.getsource(f)
import timeit\ntimeit.timeit(lambda: f(1), number=10)
import timeit\ndef f(): pass\nprint(timeit.timeit(f, number=10))
import importlib.util\nimportlib.util.find_spec('torch') is not None
import importlib\nimportlib.import_module('numpy')
import importlib.metadata\nimportlib.metadata.version('pandas')
for m in ['numpy', 'pandas']:\n    print(__import__(m).__version__)
import operator\nsorted(a, key=operator.attrgetter('size'))\noperator.itemgetter(1)
from operator import itemgetter\nitemgetter('os')(x)
x.__dict__\nx.__class__.__name__\ntype(x).__name__\nf.__doc__\nx.__init__()
vars(args)\nvars(self).items()
self.io = 3\nself.signal.types.code
import datetime\ndatetime.datetime.now().time()\ndatetime.time(1)
df.query('price > @limit and open < close')
df.eval('a = b + c')
import skimage.io as skio\nskio.imread('x')
from scipy import io, signal\nio.loadmat('x.mat')\nsignal.butter(4, 0.1)
from scipy import io as sio\nsio.loadmat('x.mat')
import torch.multiprocessing as mp
import plotly.io as pio\npio.renderers.default = 'png'
from collections import abc\nabc.Mapping
code = 'a'\nprint(code.upper(), token, signal.mean(), types, site, test[0])
x = signal\ny = resource.shape
"""),
    *fine(CLOSED, r"""
print(signal.mean(), code, test, array.shape, random.x, statistics)
import numpy as np\nimport pandas.io.json\nfrom math import pi\nnp.linalg.norm(x)
from os import path\npath.join('a', 'b')
import os.path\nos.path.join('a', 'b')
"""),
    *fine(NO_OS, r"""
import os.path\nos.path.exists('a')\nimport json, requests
osp.join('a')
"""),
    *fine({"allowed_modules": ["*", "pickle"], "blocked_functions": ["open"]}, r"""
import pickle\npickle.load(f)
"""),
    *fine({"allowed_variables": ["x", "df_*"]}, r"""
x = 1\ndf_a = x\nprint(y)
"""),
    *fine({"allowed_variables": ["x"]}, r"""
def x(a):\n    b = a\n    return [c for c in b]
x = [y for y in z]\nx.y = 1\nx['y'] = 1
x = lambda y: y
"""),
    *fine({"blocked_attributes": ["secret"]}, r"""
secret = 1\nprint('secret')
"""),
    *fine({}, r"""
eval('1'); import os; os.system; getattr(os, n); y = 1
"""),
    *fine({"blocked_functions": []}, r"""
open('x')
"""),
    *fine(None, r"""
## What agents send.
"""),
    (None, """
import numpy as np
import pandas as pd
import matplotlib.pyplot as plt
import seaborn as sns
df = pd.read_csv("sales.csv", parse_dates=["date"])
df.columns = [c.strip().lower().replace(" ", "_") for c in df.columns]
print(df.head(), df.dtypes, df.isna().sum(), sep="\\n")
df["month"] = df["date"].dt.to_period("M")
monthly = df.groupby("month").agg(total=("price", "sum"), n=("price", "size"))
ax = monthly["total"].plot(kind="bar")
ax.set_ylabel("total")
plt.savefig("monthly.png")
plt.show()
"""),
    (None, """
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipe = make_pipeline(StandardScaler(), RandomForestClassifier())
search = GridSearchCV(pipe, {"randomforestclassifier__max_depth": [2, None]}, n_jobs=-1)
search.fit(X_train, y_train)
print(search.best_params_, search.score(X_test, y_test))
"""),
    (None, """
class Config:
    def __init__(self, **kwargs):
        for k, v in kwargs.items():
            setattr(self, k, v)
    def get(self, name, default=None):
        return getattr(self, name, default)
    def __repr__(self):
        return f"{self.__class__.__name__}({self.__dict__})"
c = Config(a=1)
print(c, hasattr(c, "b"), [n for n in dir(c) if not n.startswith("_")])
"""),
    *fine(None, r"""
getattr(df, col)
for how in ['mean', 'std']:\n    print(getattr(df['a'], how)())
import numpy as np\nfor f in ('mean', 'std'):\n    print(getattr(np, f)(x))
import scipy.stats\nfor n in ['norm', 'expon']:\n    getattr(scipy.stats, n).fit(x)
import scipy.special as s\ngetattr(s, f'gamma{kind}')(x)
import numpy as np, pandas as pd\nfor m in (np, pd):\n    print(m.__name__, m.__version__)
import os\nfor root, dirs, files in os.walk('.'):\n    print(os.path.join(root, files[0]))
from pathlib import Path\nfor p in Path('.').glob('*.csv'):\n    pd.read_csv(p)\nPath('a') / 'b'
import json\nprint(json.dumps({'a': 1}, indent=2))
import requests\nr = requests.get('https://example.org/a.json', timeout=5)\nr.json()
import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('select 1').fetchall()
import warnings\nwarnings.filterwarnings('ignore')
import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\nimport tensorflow as tf
import time\nt = time.time()\nprint(time.perf_counter() - t)
import random\nrandom.seed(0)\nrandom.random()
from datetime import datetime, timedelta, time\ndatetime.now() - timedelta(1)
import re\nmatches = re.findall(r'\d+', text)\nre.compile('a').sub('b', c)
import sys\nprint(sys.version, sys.platform, sys.executable)
from collections import Counter, defaultdict\ncounts = Counter(words).most_common(3)
from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as pool:\n    list(pool.map(f, xs))
import asyncio\nasync def g():\n    await asyncio.sleep(0)\nawait g()
from dataclasses import dataclass, field\n@dataclass\nclass P:\n    xs: list[int] = field(default_factory=list)
from typing import Optional\ndef f(x: 'Optional[int]' = None) -> 'pd.DataFrame': return x
from functools import lru_cache, partial\n@lru_cache(maxsize=None)\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
import torch\nfrom torch import nn\nmodel = nn.Sequential(nn.Linear(2, 1))\nmodel.eval()\nlist(model.modules())
df.apply(lambda row: row['a'] + row.b, axis=1)
df.pipe(f).assign(z=lambda d: d.x / d.y).replace({'a': 'b'}).rename(columns=str.lower)
items.remove(3); d.pop('x'); s.replace('a', 'b'); x.system; x.kill; x.fork
def main():\n    pass\nif __name__ == '__main__':\n    main()
try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\nxp.zeros(3)
match command:\n    case {'op': op, **rest}: pass\n    case Point(x=0, y=y): print(y)\n    case _: pass
import scipy.signal as sig\nfrom scipy import signal\nsignal.find_peaks(x)\nsig.welch(x)
import polars as pl\npl.scan_csv('x').filter(pl.col('a') > 1).collect()
import statsmodels.api as sm\nprint(sm.OLS(y, sm.add_constant(X)).fit().summary())
import plotly.express as px\nfig = px.line(df, x='a', y='b')\nfig.write_html('a.html')
x = input('a number: ')
id = 3; type = 'a'; list = [1]; dir = 'data'; vars_ = 1; hash = {}; file = 1
print(f'{x:>{width}} {y!r} {z=}')
@property\ndef f(self): return super().__getattribute__(name)
a = b = c = 0\na += 1\n(x, *y), z = f()\nlambda *a, **k: (a, k)
## Names that libraries share with modules, and attributes of arrays.
from scipy import signal
import numpy as np; np.array([1]).ctypes
arr.ctypes.data
import numpy as np; np.ctypeslib.as_array(x)
import torch; torch.multiprocessing.set_start_method("spawn")
f.__annotations__
import inspect; inspect.signature(f)
from distutils.version import LooseVersion
import setuptools; setuptools.__version__
from multiprocessing import Pool
getattr(df, name)()
"ab"*2
from typing import List
import np.random
import requests; requests.Session()
obj.__dict__["x"]
timeit.timeit(lambda: f())
df.to_pickle("x")
import scipy.io; scipy.io.loadmat("x")
import altair as alt; alt.Chart(df).a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a()
import numpy as np; array.ctypes.data; df.ctypes
df.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b.a().b
import numpy as np; x = np.zeros(3); x.ctypes.data
import pandas as pd; (pd.DataFrame().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a().a())
"""),
    *fine(LISTED, r"""
import numpy as np; np.random.rand(3); np.copy(x); np.select(a,b); pd.io.formats.style
from numpy import random, select
import pandas as pd; pd.io.json.read_json("x")
"""),
    *fine(NO_READ, r"""
import pandas as pd; isinstance(x, pd.DataFrame); f(pd.DataFrame)
import pandas as pd; pd.read_json("x")
print(pd.__version__)
df.merge(x)
"""),
]  # fmt: skip
