import time

for trees in (50, 100, 200, 400):
    forest = RandomForestClassifier(n_estimators=trees, random_state=1)
    accuracy = cross_val_score(forest, known[measures], known["species"], cv=4).mean()
    print(f"{trees} trees: {accuracy:.4f}", flush=True)
    time.sleep(0.5)
