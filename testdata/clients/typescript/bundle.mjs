// Prints the command that a desktop client runs for an unpacked bundle, by the library
// of the bundle's format: the arguments are the bundle's directory, and what its user
// has set, in JSON.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join, sep } from "node:path";

const require = createRequire(join(process.env.UNDERSTUDY_CONFORMANCE, "package.json"));
const { getMcpConfigForManifest } = require("@anthropic-ai/mcpb/node");

const [extensionPath, settings] = process.argv.slice(2);
const config = await getMcpConfigForManifest({
  manifest: JSON.parse(readFileSync(join(extensionPath, "manifest.json"))),
  extensionPath,
  systemDirs: { HOME: homedir() },
  userConfig: JSON.parse(settings),
  pathSeparator: sep,
});
console.log(JSON.stringify(config));
