"""The wall around a session, put up before any code of the user runs."""
