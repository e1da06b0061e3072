# say: How long are their wings? (There is no such column: a mistake costs nothing but itself.)
wings = df["wing_span_mm"]
