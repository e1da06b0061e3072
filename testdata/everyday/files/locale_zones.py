# Locales, time zones and text encodings.
# brief
import datetime
import locale
import os
import sys
import time
import zoneinfo

assert locale.setlocale(locale.LC_ALL, "C.UTF-8") == "C.UTF-8"
assert locale.setlocale(locale.LC_ALL, "") and locale.getpreferredencoding()
locale.setlocale(locale.LC_ALL, "C")
assert sys.getfilesystemencoding() == "utf-8"
berlin = zoneinfo.ZoneInfo("Europe/Berlin")
assert datetime.datetime(2024, 7, 1, tzinfo=berlin).utcoffset() == datetime.timedelta(hours=2)
assert len(zoneinfo.available_timezones()) > 400
os.environ["TZ"] = "America/New_York"
time.tzset()
assert time.tzname == ("EST", "EDT"), time.tzname
assert datetime.datetime(2024, 1, 1).astimezone().tzname() == "EST"
del os.environ["TZ"]
time.tzset()
with open("Grüße, 世界.txt", "w", encoding="utf-8") as out:
    out.write("Ж")
assert "Grüße, 世界.txt" in os.listdir(".")
print("Ж 世界 ok")
