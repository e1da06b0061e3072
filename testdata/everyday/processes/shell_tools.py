# The usual programs of a shell, with files, devices and substitutions.
# needs: program:bash program:awk program:sed program:find program:xargs program:tar program:gzip
import subprocess

script = r"""
set -euo pipefail
mkdir -p tools/deep && cd tools
for i in 1 2 3; do echo "line $i" > deep/$i.txt; done
test "$(cat deep/*.txt | awk '{sum += $2} END {print sum}')" = 6
sed -i 's/line/row/' deep/1.txt && grep -q row deep/1.txt
find . -name '*.txt' -print0 | xargs -0 wc -l > /dev/null
tar czf all.tar.gz deep && tar tzf all.tar.gz | grep -c txt > count
test "$(cat count)" = 3
diff <(sort deep/1.txt) <(cat deep/1.txt)
cat <<< here > /dev/stdout
head -c 1000 /dev/urandom | gzip | gunzip | wc -c
cp -a deep copy && mv copy moved && ln -s moved link && ln deep/1.txt hard && rm -r moved
mktemp > made && test -w "$(cat made)" && rm "$(cat made)"
sleep 0.01 & wait
trap 'echo trapped' USR1; kill -USR1 $$
date > /dev/null && id > /dev/null && uname -a > /dev/null && df . > /dev/null && ps > /dev/null || true
touch -d yesterday deep/1.txt && chmod 600 deep/1.txt && du -s . > /dev/null
"""
done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
assert done.stdout == "here\n1000\ntrapped\n", done.stdout
print("ok")
