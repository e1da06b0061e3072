# pandas to Parquet and back, with pyarrow's threads.
# needs: pandas pyarrow
import pandas as pd
import pyarrow.dataset as ds

table = pd.DataFrame({"a": range(200_000), "b": [f"name {i % 100}" for i in range(200_000)]})
table.to_parquet("table.parquet")
table.head(1000).to_parquet("parts", partition_cols=["b"])
table.to_feather("table.feather")
assert pd.read_parquet("table.parquet").equals(table)
assert len(pd.read_parquet("table.parquet", filters=[("a", "<", 100)])) == 100
assert ds.dataset("parts", partitioning="hive").count_rows() == 1000
assert len(pd.read_feather("table.feather")) == 200_000
print("ok")
