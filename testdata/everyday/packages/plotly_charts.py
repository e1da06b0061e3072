# plotly: a chart, its page, its JSON.
# needs: plotly pandas
import os

import plotly.express as px

chart = px.scatter(px.data.iris(), x="sepal_width", y="sepal_length", color="species")
chart.write_html("chart.html")
chart.write_json("chart.json")
assert os.path.getsize("chart.html") > 1_000_000
chart.show()
print("ok")
