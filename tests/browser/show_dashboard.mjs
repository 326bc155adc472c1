// Shows the dashboard of a made-up federation that goes on, to look at it while working on it; ends with Ctrl-C.
//
//   node show_dashboard.mjs [--learners 10] [--phase running] [PATH_OF_dashboard_server]

import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { madeUp } from "./made_up.mjs";

const { values, positionals } = parseArgs({
  options: { learners: { type: "string", default: "10" }, phase: { type: "string", default: "running" } },
  allowPositionals: true,
});
const server = spawn(positionals[0] ?? "build/dev/tests/browser/dashboard_server", [], { stdio: ["pipe", "inherit", "inherit"] });
server.on("exit", (code) => process.exit(code ?? 0));
server.on("error", ({ message }) => {
  console.error(`${message}: cmake --build --preset dev --target dashboard_server makes it`);
  process.exit(1);
});
for (let seconds = 1000; ; ++seconds) {
  server.stdin.write(`${JSON.stringify(madeUp({ learners: Number(values.learners), phase: values.phase, seconds }))}\n`);
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
