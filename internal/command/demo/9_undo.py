# say: A mistake that Python does not notice. Undo it.
# then: undo
df = df.drop(columns=["species"])
