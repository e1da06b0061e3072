# await at the top level, with tasks that live on.
import asyncio

await asyncio.sleep(0.01)
task = asyncio.create_task(asyncio.sleep(0.01, "slept"))
assert await task == "slept"
print("ok")
