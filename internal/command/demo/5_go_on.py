new = pd.DataFrame([[49.1, 14.8, 220, 5150]], columns=measures)
chances = model.predict_proba(new)[0]
answer = {"species": model.predict(new)[0], "chances": dict(zip(model.classes_, chances.round(3)))}
