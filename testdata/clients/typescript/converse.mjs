// Holds a conversation with the server through the official SDK. The argument is
// a plan in JSON (internal/conformance/clients_test.go). Every line of stdout is
// JSON: the SDK's version first, then each step with how it went.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, version } from "./sdk.mjs";

const plan = JSON.parse(process.argv[2]);
const say = (what) => console.log(JSON.stringify(what));
const file = (name) => join(plan.dir, name);

/** The interpreter, once it is known and has to be named. */
let id;

const call = (agent, tool, args, options) =>
  agent.call(tool, { ...args, ...(id ? { interpreter_id: id } : {}) }, options);
const run = (agent, code, options) => call(agent, "run_python_code", { code }, options);

/** An interpreter's id, as answers have it. */
const handle = (text) => text.match(/\b([0-9a-f]{32}|py\d+)\b/)[1];

/** Python that says "ready" and waits until the file is there. */
const waiting = (path) => `import os, time
print("ready", flush=True)
while not os.path.exists(${JSON.stringify(path)}): time.sleep(0.05)
print("went on")`;

/** Python that says in files that it has begun, and that it was stopped. */
const endless = (started, ended) => `import time
try:
    open(${JSON.stringify(started)}, "w").close()
    while True: time.sleep(0.05)
finally:
    open(${JSON.stringify(ended)}, "w").close()`;

const steps = {
  async list(agent) {
    const tools = await agent.tools();
    assert.ok(tools.includes("run_python_code") && tools.includes("manage_interpreters"), `${tools}`);
  },
  async state(agent) {
    const first = await run(agent, "x = 41");
    if (/x is 42/.test((await run(agent, "print('x is', x + 1)")).text)) return "yes";
    id = handle(first.text);
    assert.match((await run(agent, "print('x is', x + 1)")).text, /x is 42/);
    return "by handle";
  },
  async figure(agent) {
    const { images } = await run(agent, "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()");
    assert.equal(images.length, 1);
    assert.equal(images[0].mimeType, "image/png");
    assert.equal(Buffer.from(images[0].data, "base64").subarray(1, 4).toString(), "PNG");
  },
  async "six seconds"(agent) {
    const slept = await run(agent, "import time\ntime.sleep(6)\nprint('slept', 'well')");
    assert.match(slept.text, /slept well/);
  },
  async cancellation(agent) {
    const [started, ended, controller] = [file("started"), file("ended"), new AbortController()];
    const rejected = assert.rejects(run(agent, endless(started, ended), { signal: controller.signal }));
    while (!existsSync(started)) await sleep(20);
    controller.abort("changed my mind");
    await rejected;
    assert.match((await run(agent, "print('still', x)")).text, /still 41/);
    assert.ok(existsSync(ended));
  },
  async progress(agent) {
    const told = [];
    const onprogress = (p) => {
      told.push(p.message ?? "");
      if (p.message?.includes("ready")) writeFileSync(file("progress"), "");
    };
    assert.match((await run(agent, waiting(file("progress")), { onprogress })).text, /went on/);
    assert.ok(told.some((message) => message.includes("ready")), `${told}`);
  },
  async elicitation(agent) {
    assert.match((await run(agent, "name = input('Who are you? ')\nprint('Hello', name)")).text, /Hello Ada/);
  },
  async comeback(agent) {
    if (plan.comeback === "wait") {
      writeFileSync(file("comeback"), "");
      assert.match((await call(agent, "manage_interpreters", { operation: "wait" })).text, /went on/);
    }
    assert.match((await run(agent, "print('again', x)")).text, /again 41/);
  },
};

/** Leaves the interpreter so that the next client finds it as the plan says. */
async function leave(agent) {
  if (plan.comeback !== "wait") return;
  const code = waiting(file("comeback"));
  id = handle((await call(agent, "run_python_code", { code, wait: 0.1 })).text);
}

say({ version: version(plan) });
let agent = await connect(plan);
for (const step of plan.steps) {
  if (step === "comeback") {
    await leave(agent);
    await agent.close();
    agent = await connect(plan);
  }
  try {
    say({ step, outcome: (await steps[step](agent)) ?? "yes" });
  } catch (error) {
    say({ step, failed: error.stack });
    process.exitCode = 1;
  }
}
await agent.close();
say({ step: "goodbye", outcome: "yes" });
