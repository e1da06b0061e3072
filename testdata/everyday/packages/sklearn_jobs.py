# scikit-learn with two jobs: threads, and processes of joblib's.
# needs: sklearn
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

x, y = make_classification(400, random_state=1)
forest = RandomForestClassifier(20, n_jobs=2, random_state=1).fit(x, y)
assert forest.score(x, y) > 0.9
scores = cross_val_score(LogisticRegression(), x, y, cv=4, n_jobs=2)
assert len(scores) == 4 and scores.mean() > 0.7
search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1, 10]}, cv=3, n_jobs=2)
assert search.fit(*load_iris(return_X_y=True)).best_score_ > 0.9
assert HistGradientBoostingClassifier(max_iter=10).fit(x, y).score(x, y) > 0.9
print("ok")
