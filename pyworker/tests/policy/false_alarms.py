"""What people write, which passes under the shipped lists or the policy beside it."""

from pyworker.tests.policy.bypasses import CLOSED, LISTED, NO_COMPILE, NO_OS, NO_READ, OPEN

# (policy or None for the shipped lists, code)
FALSE_ALARMS = [
    (OPEN, "import re; re.compile('x')"),
    (NO_COMPILE, "import re; p = re.compile('x')"),
    (NO_COMPILE, "from re import compile\ncompile('x')"),
    (NO_COMPILE, "model.compile(optimizer='adam', loss='mse')"),
    (NO_COMPILE, "def step(input): return input + 1"),
    (NO_COMPILE, "input = torch.rand(3)\nprint(input.shape)"),
    (NO_COMPILE, "for input, target in batches:\n    loss(model(input), target)"),
    (NO_COMPILE, "if ready:\n    input = 3\n    print(input)"),
    (OPEN, "x.open()"),
    (OPEN, "from PIL import Image; im = Image.open('x.png')"),
    (OPEN, "print('open(\"x\")', '!ls', '__import__')"),
    (OPEN, "# open('x')\nx = 1"),
    (OPEN, "df['open'] = df.open.shift(1)"),
    (OPEN, "df.plot(open='a')"),
    (OPEN, "open = df['open']\nclose = df['close']\nprint((close - open).mean())"),
    (OPEN, "class Candle:\n    open: float\n    close: float"),
    (OPEN, "def f(open, close): return close - open"),
    (OPEN, "[open + 1 for open in opens]"),
    (OPEN, "for open, close in rows:\n    print(open, close)"),
    (OPEN, "with a as open:\n    print(open)"),
    (OPEN, "def f():\n    open = 1\n    return lambda: open"),
    (
        OPEN,
        "import os\nos.getcwd()\nos.path.join('a', 'b')\nos.environ['A'] = 'b'\nos.listdir('.')",
    ),
    (OPEN, "import os\nos.makedirs('out', exist_ok=True)"),
    (OPEN, "from os import path, getcwd"),
    (OPEN, "import os.path as osp\nosp.join('a', 'b')"),
    (OPEN, "os.path.exists('x')"),
    (OPEN, "import os\nhasattr(os, 'fork')"),
    (OPEN, "hasattr(f, '__code__') and hasattr(x, '__self__')"),
    (OPEN, "getattr(os, 'cpu_count')()"),
    (OPEN, "def f():\n    import os as o\n    return o.getcwd()"),
    (OPEN, "import sys\nsys.version_info >= (3, 10)\nprint(sys.argv, file=sys.stderr)"),
    (OPEN, "import sys\n'pandas' in sys.modules"),
    (OPEN, "import sys\nsys.path.append('lib')\nsys.getsizeof(x)"),
    (OPEN, "import io\nbuffer = io.BytesIO()\nio.StringIO('a')"),
    (OPEN, "import ast\nast.literal_eval('[1]')"),
    (OPEN, "'df' in globals()"),
    (OPEN, "globals()['x'] = 1\nglobals().get('df')"),
    (OPEN, "'{a} {b}'.format(**locals())"),
    (OPEN, "'{0.real} {1[0]}'.format(1, [2])"),
    (OPEN, "import pickle\npickle.dumps(x)"),
    (OPEN, "import gc\ngc.collect()"),
    (OPEN, "import types\nisinstance(x, types.GeneratorType)\ntypes.SimpleNamespace(a=1)"),
    (OPEN, "import inspect\ninspect.signature(f)\ninspect.getsource(f)"),
    (OPEN, "import timeit\ntimeit.timeit(lambda: f(1), number=10)"),
    (OPEN, "import timeit\ndef f(): pass\nprint(timeit.timeit(f, number=10))"),
    (OPEN, "import importlib.util\nimportlib.util.find_spec('torch') is not None"),
    (OPEN, "import importlib\nimportlib.import_module('numpy')"),
    (OPEN, "import importlib.metadata\nimportlib.metadata.version('pandas')"),
    (OPEN, "for m in ['numpy', 'pandas']:\n    print(__import__(m).__version__)"),
    (OPEN, "import operator\nsorted(a, key=operator.attrgetter('size'))\noperator.itemgetter(1)"),
    (OPEN, "from operator import itemgetter\nitemgetter('os')(x)"),
    (OPEN, "x.__dict__\nx.__class__.__name__\ntype(x).__name__\nf.__doc__\nx.__init__()"),
    (OPEN, "vars(args)\nvars(self).items()"),
    (OPEN, "self.io = 3\nself.signal.types.code"),
    (OPEN, "import datetime\ndatetime.datetime.now().time()\ndatetime.time(1)"),
    (OPEN, "df.query('price > @limit and open < close')"),
    (OPEN, "df.eval('a = b + c')"),
    (OPEN, "import skimage.io as skio\nskio.imread('x')"),
    (OPEN, "from scipy import io, signal\nio.loadmat('x.mat')\nsignal.butter(4, 0.1)"),
    (OPEN, "from scipy import io as sio\nsio.loadmat('x.mat')"),
    (OPEN, "import torch.multiprocessing as mp"),
    (OPEN, "import plotly.io as pio\npio.renderers.default = 'png'"),
    (OPEN, "from collections import abc\nabc.Mapping"),
    (OPEN, "code = 'a'\nprint(code.upper(), token, signal.mean(), types, site, test[0])"),
    (OPEN, "x = signal\ny = resource.shape"),
    (CLOSED, "print(signal.mean(), code, test, array.shape, random.x, statistics)"),
    (CLOSED, "import numpy as np\nimport pandas.io.json\nfrom math import pi\nnp.linalg.norm(x)"),
    (CLOSED, "from os import path\npath.join('a', 'b')"),
    (CLOSED, "import os.path\nos.path.join('a', 'b')"),
    (NO_OS, "import os.path\nos.path.exists('a')\nimport json, requests"),
    (NO_OS, "osp.join('a')"),
    (
        {"allowed_modules": ["*", "pickle"], "blocked_functions": ["open"]},
        "import pickle\npickle.load(f)",
    ),
    ({"allowed_variables": ["x", "df_*"]}, "x = 1\ndf_a = x\nprint(y)"),
    ({"allowed_variables": ["x"]}, "def x(a):\n    b = a\n    return [c for c in b]"),
    ({"allowed_variables": ["x"]}, "x = [y for y in z]\nx.y = 1\nx['y'] = 1"),
    ({"allowed_variables": ["x"]}, "x = lambda y: y"),
    (
        {"blocked_attributes": ["secret"]},
        "secret = 1\nprint('secret')",
    ),
    ({}, "eval('1'); import os; os.system; getattr(os, n); y = 1"),
    ({"blocked_functions": []}, "open('x')"),
    # What agents send.
    (
        None,
        """
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
""",
    ),
    (
        None,
        """
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
pipe = make_pipeline(StandardScaler(), RandomForestClassifier())
search = GridSearchCV(pipe, {"randomforestclassifier__max_depth": [2, None]}, n_jobs=-1)
search.fit(X_train, y_train)
print(search.best_params_, search.score(X_test, y_test))
""",
    ),
    (
        None,
        """
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
""",
    ),
    (None, "getattr(df, col)"),
    (None, "for how in ['mean', 'std']:\n    print(getattr(df['a'], how)())"),
    (None, "import numpy as np\nfor f in ('mean', 'std'):\n    print(getattr(np, f)(x))"),
    (None, "import scipy.stats\nfor n in ['norm', 'expon']:\n    getattr(scipy.stats, n).fit(x)"),
    (None, "import scipy.special as s\ngetattr(s, f'gamma{kind}')(x)"),
    (
        None,
        "import numpy as np, pandas as pd\n"
        "for m in (np, pd):\n"
        "    print(m.__name__, m.__version__)",
    ),
    (
        None,
        "import os\n"
        "for root, dirs, files in os.walk('.'):\n"
        "    print(os.path.join(root, files[0]))",
    ),
    (
        None,
        "from pathlib import Path\n"
        "for p in Path('.').glob('*.csv'):\n"
        "    pd.read_csv(p)\n"
        "Path('a') / 'b'",
    ),
    (None, "import json\nprint(json.dumps({'a': 1}, indent=2))"),
    (None, "import requests\nr = requests.get('https://example.org/a.json', timeout=5)\nr.json()"),
    (None, "import sqlite3\nc = sqlite3.connect(':memory:')\nc.execute('select 1').fetchall()"),
    (None, "import warnings\nwarnings.filterwarnings('ignore')"),
    (None, "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\nimport tensorflow as tf"),
    (None, "import time\nt = time.time()\nprint(time.perf_counter() - t)"),
    (None, "import random\nrandom.seed(0)\nrandom.random()"),
    (None, "from datetime import datetime, timedelta, time\ndatetime.now() - timedelta(1)"),
    (None, "import re\nmatches = re.findall(r'\\d+', text)\nre.compile('a').sub('b', c)"),
    (None, "import sys\nprint(sys.version, sys.platform, sys.executable)"),
    (None, "from collections import Counter, defaultdict\ncounts = Counter(words).most_common(3)"),
    (
        None,
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool:\n"
        "    list(pool.map(f, xs))",
    ),
    (None, "import asyncio\nasync def g():\n    await asyncio.sleep(0)\nawait g()"),
    (
        None,
        "from dataclasses import dataclass, field\n"
        "@dataclass\n"
        "class P:\n"
        "    xs: list[int] = field(default_factory=list)",
    ),
    (
        None,
        "from typing import Optional\ndef f(x: 'Optional[int]' = None) -> 'pd.DataFrame': return x",
    ),
    (
        None,
        "from functools import lru_cache, partial\n"
        "@lru_cache(maxsize=None)\n"
        "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)",
    ),
    (
        None,
        "import torch\n"
        "from torch import nn\n"
        "model = nn.Sequential(nn.Linear(2, 1))\n"
        "model.eval()\n"
        "list(model.modules())",
    ),
    (None, "df.apply(lambda row: row['a'] + row.b, axis=1)"),
    (
        None,
        "df.pipe(f).assign(z=lambda d: d.x / d.y).replace({'a': 'b'}).rename(columns=str.lower)",
    ),
    (None, "items.remove(3); d.pop('x'); s.replace('a', 'b'); x.system; x.kill; x.fork"),
    (None, "def main():\n    pass\nif __name__ == '__main__':\n    main()"),
    (None, "try:\n    import cupy as xp\nexcept ImportError:\n    import numpy as xp\nxp.zeros(3)"),
    (
        None,
        "match command:\n"
        "    case {'op': op, **rest}: pass\n"
        "    case Point(x=0, y=y): print(y)\n"
        "    case _: pass",
    ),
    (
        None,
        "import scipy.signal as sig\nfrom scipy import signal\nsignal.find_peaks(x)\nsig.welch(x)",
    ),
    (None, "import polars as pl\npl.scan_csv('x').filter(pl.col('a') > 1).collect()"),
    (None, "import statsmodels.api as sm\nprint(sm.OLS(y, sm.add_constant(X)).fit().summary())"),
    (
        None,
        "import plotly.express as px\nfig = px.line(df, x='a', y='b')\nfig.write_html('a.html')",
    ),
    (None, "x = input('a number: ')"),
    (None, "id = 3; type = 'a'; list = [1]; dir = 'data'; vars_ = 1; hash = {}; file = 1"),
    (None, "print(f'{x:>{width}} {y!r} {z=}')"),
    (None, "@property\ndef f(self): return super().__getattribute__(name)"),
    (None, "a = b = c = 0\na += 1\n(x, *y), z = f()\nlambda *a, **k: (a, k)"),
    # Names that libraries share with modules, and attributes of arrays.
    (None, "from scipy import signal"),
    (None, "import numpy as np; np.array([1]).ctypes"),
    (None, "arr.ctypes.data"),
    (None, "import numpy as np; np.ctypeslib.as_array(x)"),
    (None, 'import torch; torch.multiprocessing.set_start_method("spawn")'),
    (None, "f.__annotations__"),
    (None, "import inspect; inspect.signature(f)"),
    (None, "from distutils.version import LooseVersion"),
    (None, "import setuptools; setuptools.__version__"),
    (None, "from multiprocessing import Pool"),
    (None, "getattr(df, name)()"),
    (None, '"ab"*2'),
    (None, "from typing import List"),
    (None, "import np.random"),
    (None, "import requests; requests.Session()"),
    (None, 'obj.__dict__["x"]'),
    (None, "timeit.timeit(lambda: f())"),
    (None, 'df.to_pickle("x")'),
    (None, 'import scipy.io; scipy.io.loadmat("x")'),
    (
        None,
        "import altair as alt; alt.Chart(df)" + ".a()" * 40,
    ),
    (None, "import numpy as np; array.ctypes.data; df.ctypes"),
    (
        None,
        "df" + ".a().b" * 60,
    ),
    (None, "import numpy as np; x = np.zeros(3); x.ctypes.data"),
    (
        None,
        "import pandas as pd; (pd.DataFrame()" + ".a()" * 60 + ")",
    ),
    (
        LISTED,
        "import numpy as np; np.random.rand(3); np.copy(x); np.select(a,b); pd.io.formats.style",
    ),
    (LISTED, "from numpy import random, select"),
    (LISTED, 'import pandas as pd; pd.io.json.read_json("x")'),
    (NO_READ, "import pandas as pd; isinstance(x, pd.DataFrame); f(pd.DataFrame)"),
    (NO_READ, 'import pandas as pd; pd.read_json("x")'),
    (NO_READ, "print(pd.__version__)"),
    (NO_READ, "df.merge(x)"),
]
