# Pickles of what the cell defines, shelves, dbm, copies.
import copy
import dataclasses
import dbm
import pickle
import shelve


@dataclasses.dataclass
class Point:
    x: int
    y: int


point = Point(1, 2)
for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    assert pickle.loads(pickle.dumps(point, protocol)) == point
with open("point.pkl", "wb") as out:
    pickle.dump(point, out)
with shelve.open("shelf") as shelf:
    shelf["point"] = point
with shelve.open("shelf") as shelf:
    assert shelf["point"] == copy.deepcopy(point)
with dbm.open("words", "c") as words:
    words["a"] = "b"
print("ok")
