from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score

measures = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
known = df.dropna(subset=measures)
model = RandomForestClassifier(n_estimators=200, random_state=0)
folds = cross_val_score(model, known[measures], known["species"], cv=5)
model.fit(known[measures], known["species"])
scores = {"mean accuracy": folds.mean().round(4), "folds": folds.round(3)}
