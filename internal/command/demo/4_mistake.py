wings = df["wing_span_mm"]
