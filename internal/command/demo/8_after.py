print(f"{len(df)} penguins, and a model of {model.n_estimators} trees: {answer['species']}")
