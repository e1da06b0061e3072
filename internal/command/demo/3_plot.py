import matplotlib.pyplot as plt

for species, group in known.groupby("species"):
    plt.scatter(group["flipper_length_mm"], group["bill_length_mm"], label=species, alpha=0.7)
plt.title("Three species, two measures")
plt.xlabel("flipper length [mm]")
plt.ylabel("bill length [mm]")
plt.legend()
plt.show()

importance = pd.Series(model.feature_importances_, index=measures).sort_values()
importance.plot.barh(color="tab:green", figsize=(6.4, 3.2), title="What the model looks at")
plt.tight_layout()
plt.show()
