# pandas to SQLite and back.
# needs: pandas
import sqlite3

import pandas as pd

with sqlite3.connect("table.db") as db:
    pd.DataFrame({"a": range(1000), "b": "x"}).to_sql("t", db, index=False)
    assert pd.read_sql("select sum(a) as s from t", db)["s"][0] == 499500
print("ok")
