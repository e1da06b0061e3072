df = df.drop(columns=["species"])
