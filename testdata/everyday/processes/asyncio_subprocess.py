# asyncio: subprocesses, shells, time limits, threads.
# brief
import asyncio
import sys


async def main():
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "print(input()[::-1])",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await child.communicate(b"abc\n")
    assert (child.returncode, out) == (0, b"cba\n")
    shell = await asyncio.create_subprocess_shell("exit 7")
    assert await shell.wait() == 7
    try:
        await asyncio.wait_for(asyncio.sleep(60), 0.01)
    except asyncio.TimeoutError:
        pass
    assert await asyncio.to_thread(sum, range(10)) == 45
    lines = await asyncio.gather(*(asyncio.to_thread(str, n) for n in range(10)))
    assert len(lines) == 10


asyncio.run(main())
print("ok")
