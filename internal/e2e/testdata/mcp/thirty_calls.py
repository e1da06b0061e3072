import ast
from concurrent.futures import ThreadPoolExecutor

import pandas as pd  # noqa: TID253
from mcptools import everything, filesystem, memory, sqlite
from mcptools import time as clock

folder = filesystem.list_allowed_directories()["content"].splitlines()[-1]
paths = filesystem.search_files(path=folder, pattern="*.txt")["content"].splitlines()
cities = ["New York", "Chicago", "Los Angeles"]
zones = ["Europe/Berlin", "Asia/Tokyo", "Africa/Cairo", "Asia/Kolkata", "Etc/UTC", "America/Lima"]
with ThreadPoolExecutor(8) as pool:
    texts = list(
        pool.map(lambda path: filesystem.read_text_file(path=path)["content"], sorted(paths))
    )
    weather = list(pool.map(everything.get_structured_content, cities))
    times = list(pool.map(lambda zone: clock.convert_time("Etc/UTC", "12:00", zone), zones))
sums = [everything.get_sum(a=n, b=n * n) for n in range(8)]
named = [
    {"name": city, "entityType": "city", "observations": [str(w["temperature"])]}
    for city, w in zip(cities, weather)
]
made = memory.create_entities(entities=named)
graph = memory.read_graph()
rows = ast.literal_eval(sqlite.read_query(query="select 7 as orders, 'open' as state"))

frame = pd.concat(
    [
        pd.DataFrame({"server": "filesystem", "text": texts}),
        pd.DataFrame({"server": "everything", "text": sums}),
        pd.DataFrame({"server": "everything", "text": [w["conditions"] for w in weather]}),
        pd.DataFrame({"server": "time", "text": [t["time_difference"] for t in times]}),
        pd.DataFrame({"server": "memory", "text": [e["name"] for e in graph["entities"]]}),
        pd.DataFrame({"server": "sqlite", "text": [row["state"] for row in rows]}),
    ]
)
print(frame.groupby("server").size().to_dict())
print(frame.text.str.contains("sum of 7 and 49 is 56").sum(), frame.text.str.strip().iloc[7])
print(sorted(frame[frame.server == "time"].text))
