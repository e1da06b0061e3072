# git: a repository in the working directory.
# needs: program:git
# brief
import subprocess

with open("file", "w") as out:
    out.write("text")
who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
for command in (
    ["init", "-q", "repository"],
    ["-C", "repository", *who, "commit", "-q", "--allow-empty", "-m", "x"],
):
    subprocess.run(["git", *command], check=True)
assert b"x" in subprocess.check_output(["git", "-C", "repository", "log", "--oneline"])
subprocess.run(["git", "clone", "-q", "repository", "clone"], check=True)
print("ok")
