# SQLite: WAL, several connections, other processes, full text.
# brief
import sqlite3
import subprocess
import sys

db = sqlite3.connect("data.db", timeout=30)
assert db.execute("pragma journal_mode=wal").fetchone() == ("wal",)
db.execute("create table t (a integer primary key, b text)")
with db:
    db.executemany("insert into t (b) values (?)", [("x",)] * 1000)
reader = sqlite3.connect("data.db")
assert reader.execute("select count(*) from t").fetchone() == (1000,)
code = "import sqlite3; d = sqlite3.connect('data.db', timeout=30); d.execute('delete from t where a > 500'); d.commit()"
subprocess.run([sys.executable, "-c", code], check=True)
assert reader.execute("select count(*) from t").fetchone() == (500,)
db.execute("create virtual table words using fts5(text)")
copy = sqlite3.connect("copy.db")
db.backup(copy)
copy.execute("vacuum")
sqlite3.connect(":memory:").execute("select sqlite_version()")
sqlite3.connect("").execute("create table spilled (a)")
print("ok")
