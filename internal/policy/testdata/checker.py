"""A checker that speaks as the real one does, and misbehaves when the code asks for it.

Each line of code is a word of its language: "bad" is a violation, "syntax" a syntax
error; "echo" is a violation that tells the question.
"""

import json
import os
import signal
import sys
import time


def violation(line, word, rule, message=""):
    return {"line": line, "column": 1, "source": word, "rule": rule, "message": message}


def check(question):
    answer = {"id": question["id"], "violations": [], "syntax_error": None}
    for number, word in enumerate(question["code"].split("\n"), 1):
        word, _, rest = word.partition(" ")
        if word == "bad":
            answer["violations"].append(violation(number, word, "blocked word bad", rest))
        elif word == "echo":
            told = json.dumps({**question, "pid": os.getpid()})
            answer["violations"].append(violation(number, word, "echo", told))
        elif word == "syntax":
            answer["syntax_error"] = "SyntaxError: invalid syntax"
        elif word == "hang":
            signal.pause()
        elif word == "crash":
            sys.exit("crashed as it was told to")
        elif word == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif word == "huge":
            answer["violations"] = [violation(1, "x" * 100, "big")] * 100_000
        elif word == "garbage":
            return "what?"
        elif word == "error":
            answer["error"] = "KeyError: 'policy'"
        elif word == "more":
            answer["violations"].append(violation(number, word, "more", "and 7 more"))
        elif word == "stranger":
            answer["id"] += 1
        elif word == "silence":
            del answer["violations"], answer["syntax_error"]
        elif word == "sleep":
            time.sleep(float(rest))
        elif word == "later":  # dies as soon as it has answered, unless it is told more
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
            os._exit(3)
    return json.dumps(answer)


for line in sys.stdin:
    print(check(json.loads(line)), flush=True)
