// The official TypeScript SDK in both of its lines: v2, which speaks both eras
// of the protocol, and v1, which is what most clients are still built with.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

// The packages are installed apart from these files.
const place = process.env.UNDERSTUDY_CONFORMANCE;
const require = createRequire(join(place, "package.json"));

/** The version of the package that the plan's client is of. */
export function version(plan) {
  const name = plan.variant === "v1" ? "sdk" : "client";
  return JSON.parse(readFileSync(join(place, "node_modules/@modelcontextprotocol", name, "package.json"))).version;
}

const lines = {
  v1() {
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const { ElicitRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
    return {
      Client,
      ...require("@modelcontextprotocol/sdk/client/stdio.js"),
      ...require("@modelcontextprotocol/sdk/client/sse.js"),
      ...require("@modelcontextprotocol/sdk/client/streamableHttp.js"),
      options: () => ({}),
      call: (client, params, options) => client.callTool(params, undefined, options),
      onElicit: (client, handle) => client.setRequestHandler(ElicitRequestSchema, handle),
    };
  },
  v2() {
    return {
      ...require("@modelcontextprotocol/client"),
      ...require("@modelcontextprotocol/client/stdio"),
      options: (era) => ({ versionNegotiation: { mode: era === "modern" ? { pin: "2026-07-28" } : "legacy" } }),
      call: (client, params, options) => client.callTool(params, options),
      onElicit: (client, handle) => client.setRequestHandler("elicitation/create", handle),
    };
  },
};

/** Patience, in milliseconds, for any single answer on a slow machine. */
const PATIENCE = 120_000;

/** Whether the code's questions are answered. */
const asked = (plan) => plan.steps.includes("elicitation");

/** Connects as the plan says and returns an agent: who calls tools. */
export async function connect(plan) {
  const sdk = lines[plan.variant]();
  const client = new sdk.Client(
    { name: "conformance", version: "1" },
    { capabilities: asked(plan) ? { elicitation: {} } : {}, ...sdk.options(plan.era) },
  );
  if (asked(plan)) sdk.onElicit(client, accept);
  await client.connect(transport(sdk, plan), { timeout: PATIENCE });
  return {
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    /** Calls a tool; an error of the tool's is thrown. */
    async call(name, args, options = {}) {
      const result = await sdk.call(client, { name, arguments: args }, { timeout: PATIENCE, ...options });
      const text = result.content.filter((c) => c.type === "text").map((c) => c.text).join("\n");
      if (result.isError) throw new Error(`${name}: ${text}`);
      return { text, images: result.content.filter((c) => c.type === "image") };
    },
    close: () => client.close(),
  };
}

function transport(sdk, plan) {
  const headers = plan.token ? { Authorization: `Bearer ${plan.token}` } : {};
  switch (plan.transport) {
    case "stdio": {
      const [command, ...args] = plan.command;
      return new sdk.StdioClientTransport({ command, args, env: { ...process.env, ...plan.env }, stderr: "inherit" });
    }
    case "http":
      return new sdk.StreamableHTTPClientTransport(new URL(plan.url), { requestInit: { headers } });
    case "sse":
      return new sdk.SSEClientTransport(new URL(plan.url), { requestInit: { headers } });
  }
  throw new Error(`no such transport: ${plan.transport}`);
}

/** Answers a form with "Ada" in every field. */
function accept(request) {
  const fields = Object.keys(request.params.requestedSchema?.properties ?? {});
  return { action: "accept", content: Object.fromEntries(fields.map((name) => [name, "Ada"])) };
}
