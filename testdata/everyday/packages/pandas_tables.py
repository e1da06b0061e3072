# pandas: CSV, JSON, pickles, compressed files, groups, dates.
# needs: pandas
# brief
import numpy as np
import pandas as pd

table = pd.DataFrame(
    {
        "day": pd.date_range("2024-01-01", periods=1000, freq="h", tz="Europe/Berlin"),
        "shop": np.arange(1000) % 7,
        "sum": np.arange(1000) * 1.5,
    }
)
table.to_csv("table.csv", index=False)
table.to_csv("table.csv.gz", index=False)
table.to_json("table.json", orient="records", lines=True, date_format="iso")
table.to_pickle("table.pkl")
assert len(pd.read_csv("table.csv", parse_dates=["day"])) == 1000
assert pd.read_csv("table.csv.gz")["sum"].sum() == table["sum"].sum()
assert len(pd.read_json("table.json", lines=True)) == 1000
assert pd.read_pickle("table.pkl").equals(table)
assert sum(len(part) for part in pd.read_csv("table.csv", chunksize=100)) == 1000
assert len(table.groupby("shop")["sum"].agg(["mean", "std"])) == 7
assert len(table.set_index("day")["sum"].resample("D").sum()) == 42
print("ok")
