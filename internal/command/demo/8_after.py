# say: The understudy has stepped in: data and model are where they were.
print(f"{len(df)} penguins, and a model of {model.n_estimators} trees: {answer['species']}")
