// Holds a conversation with the server through the official SDK. The argument is
// a plan in JSON (internal/conformance/clients_test.go); each step that went well
// is a line on stdout.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "./sdk.mjs";

const plan = JSON.parse(process.argv[2]);
const said = (step) => console.log(`ok ${step}`);

/** Runs code in the conversation's interpreter. */
const run = (agent, code, { args = {}, ...options } = {}) =>
  agent.call("run_python_code", { code, ...(id ? { interpreter_id: id } : {}), ...args }, options);

/** The interpreter, once it is known and has to be named. */
let id;

const handle = (text) => text.match(/interpreter ([0-9a-f]{32})/)[1];

/** Python that says "ready" and waits until the file is there. */
const waiting = (file) => `import os, time
print("ready", flush=True)
while not os.path.exists(${JSON.stringify(file)}): time.sleep(0.05)
print("went on")`;

async function state(agent) {
  const tools = await agent.tools();
  assert.ok(tools.includes("run_python_code") && tools.includes("manage_interpreters"), `${tools}`);
  const first = await run(agent, "x = 6 * 7");
  if (plan.anonymous) id = handle(first.text);
  assert.match((await run(agent, "print('x is', x)")).text, /x is 42/);
  said("state");
}

async function figure(agent) {
  const { images } = await run(agent, "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()");
  assert.equal(images.length, 1);
  assert.equal(images[0].mimeType, "image/png");
  assert.equal(Buffer.from(images[0].data, "base64").subarray(1, 4).toString(), "PNG");
  said("figure");
}

async function progress(agent) {
  const file = join(plan.dir, "progress");
  const told = [];
  const onprogress = (p) => {
    told.push(p.message ?? "");
    if (p.message?.includes("ready")) writeFileSync(file, "");
  };
  assert.match((await run(agent, waiting(file), { onprogress })).text, /went on/);
  assert.ok(told.some((message) => message.includes("ready")), `${told}`);
  said("progress");
}

async function cancellation(agent) {
  const controller = new AbortController();
  const onprogress = (p) => p.message?.includes("ready") && controller.abort("changed my mind");
  const never = join(plan.dir, "never");
  await assert.rejects(run(agent, waiting(never), { signal: controller.signal, onprogress }));
  assert.ok(controller.signal.aborted);
  assert.match((await run(agent, "print('still', x)")).text, /still 42/);
  said("cancellation");
}

async function elicitation(agent) {
  assert.match((await run(agent, "name = input('Who are you? ')\nprint('Hello', name)")).text, /Hello Ada/);
  said("elicitation");
}

/** Comes back with a new client. How its session is found is the plan's. */
const comeback = {
  async handle(agent) {
    id ??= handle((await run(agent, "pass")).text);
    await agent.close();
    const again = await connect(plan);
    assert.match((await run(again, "print('again', x)")).text, /again 42/);
    return again;
  },
  async principal(agent) {
    await agent.close();
    const again = await connect(plan);
    assert.match((await run(again, "print('again', x)")).text, /again 42/);
    return again;
  },
  async wait(agent) {
    const file = join(plan.dir, "comeback");
    const started = await run(agent, waiting(file), { args: { wait: 0 } });
    id = handle(started.text);
    await agent.close();
    const again = await connect(plan);
    writeFileSync(file, "");
    const end = await again.call("manage_interpreters", { operation: "wait", interpreter_id: id });
    assert.match(end.text, /went on/);
    assert.match((await run(again, "print('again', x)")).text, /again 42/);
    return again;
  },
};

let agent = await connect(plan);
await state(agent);
await figure(agent);
await progress(agent);
await cancellation(agent);
if (plan.elicit) await elicitation(agent);
if (plan.comeback) {
  agent = await comeback[plan.comeback](agent);
  said("comeback");
}
await agent.close();
said("goodbye");
