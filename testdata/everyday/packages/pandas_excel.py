# pandas to Excel and back.
# needs: pandas openpyxl
import pandas as pd

table = pd.DataFrame({"a": range(100), "when": pd.date_range("2024-01-01", periods=100)})
with pd.ExcelWriter("table.xlsx") as book:
    table.to_excel(book, sheet_name="one", index=False)
    table.describe().to_excel(book, sheet_name="two")
assert pd.read_excel("table.xlsx", sheet_name="one").equals(table)
assert set(pd.read_excel("table.xlsx", sheet_name=None)) == {"one", "two"}
print("ok")
