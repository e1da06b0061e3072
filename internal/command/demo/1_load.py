import pandas as pd

df = pd.read_csv("penguins.csv")
print(f"{len(df)} penguins, {df.isna().any(axis=1).sum()} of them with a value missing")
df.groupby("species")[["bill_length_mm", "flipper_length_mm", "body_mass_g"]].mean().round(1)
