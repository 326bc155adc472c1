// The dashboard of a running federation: real processes on this machine, the built-in data.
//
//   node live_dashboard_test.mjs DIRECTORY_OF_THE_PROGRAMS [DIRECTORY_FOR_SCREENSHOTS]

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { launch } from "./browser.mjs";
import { cellOf, count, drawn, field, names, openDashboard, passes, percent, share, shoot, shows, WAIT } from "./dashboard_page.mjs";

const BIN = path.resolve(process.argv[2] ?? "build/dev/bin");
const SCREENSHOTS = process.argv[3];
const LEARNERS = 3;
const SETTINGS = {
  "federation.policy": "async-dvw-adaptive",
  "federation.learners": LEARNERS,
  "data.sizes": "skewed",
  "builtin.training_examples": 3000,
  "builtin.test_examples": 500,
  "training.batch_size": 10,
  "test.every_commits": 1,
  "membership.heartbeat": "500ms",
  "stop.duration": "1h",
};

let home, run, url, browser, page, complaints;
const processes = [];

function start(program, ...words) {
  const options = { cwd: home, env: { ...process.env, HOME: home }, stdio: ["ignore", "pipe", "pipe"] };
  const started = spawn(path.join(BIN, `metis-${program}`), words.map(String), options);
  const member = { said: "", ended: false, process: started };
  for (const stream of [started.stdout, started.stderr]) stream.on("data", (text) => (member.said += text));
  started.on("exit", () => (member.ended = true));
  processes.push(member);
  return member;
}

async function until(what, found) {
  const end = Date.now() + WAIT.timeout;
  for (;;) {
    const value = found();
    if (value) return value;
    if (Date.now() > end || processes.some((one) => one.ended && one.process.exitCode !== 0))
      throw new Error(`${what}: never\n${processes.map(({ said }) => said).join("\n---\n")}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const operate = (...words) => execFileSync(path.join(BIN, "metis"), words, { encoding: "utf8", timeout: 120_000 });
const status = () => JSON.parse(operate("status", run, "--json"));

before(async () => {
  home = mkdtempSync(path.join(tmpdir(), "metis-live-"));
  run = path.join(home, "run");
  const sets = Object.entries(SETTINGS).flatMap(([key, value]) => ["--set", `${key}=${value}`]);
  const words = ["--run", run, "--insecure", "--listen", "127.0.0.1:0", "--dashboard", "127.0.0.1:0"];
  const controller = start("controller", ...words, ...sets);
  url = await until("dashboard", () => /dashboard at (http:\S+)/.exec(controller.said)?.[1]);
  const file = path.join(run, "address");
  const address = await until("address", () => existsSync(file) && /^(\S+)\n/.exec(readFileSync(file, "utf8"))?.[1]);
  start("observer", "--join", address, "--insecure", "--name", "tester", "--data", "builtin");
  for (let k = 0; k < LEARNERS; ++k)
    start("learner", "--join", address, "--insecure", "--name", `site-${k}`, "--data", "builtin", "--share", `${k}/${LEARNERS}`);
  browser = await launch();
  ({ page, complaints } = await openDashboard(browser, url, { width: 1400 }));
});

after(async () => {
  await browser?.close();
  for (const one of processes) if (!one.ended) one.process.kill("SIGKILL");
  if (home) rmSync(home, { recursive: true, force: true });
});

test("it follows a federation that learns", async () => {
  await page.waitForFunction((n) => document.querySelectorAll("#learners tbody tr").length === n, LEARNERS + 1, WAIT);
  await shows(page, "phase", "Running");
  for (const id of ["convergence", "staleness", "cycles", "rate", "memory"]) await drawn(page, id);
  await passes(page, status().requests);
  await shoot(page, SCREENSHOTS, "live-running");
});

// Paused, it stands still: the page, metis status and the metrics must agree to the last digit.
test("a paused federation has the same numbers on the page, in metis status and in the metrics", async () => {
  operate("pause", run);
  await shows(page, "phase", "Paused");
  const wanted = await until("the test of the latest version", () => {
    const now = status();
    return now.tests.at(-1)?.version === now.version && now;
  });
  await shows(page, "requests", count(wanted.requests));
  assert.equal(wanted.phase, "paused");
  assert.ok((await page.textContent(".lead")).includes(`Version ${count(wanted.version)} `));
  await shows(page, "accuracy", percent(wanted.tests.at(-1).accuracy));
  assert.deepEqual((await names(page)).sort(), wanted.participants.map(({ name }) => name).sort());
  for (const one of wanted.participants.filter(({ role }) => role === "learner")) {
    assert.equal(await cellOf(page, one.id, "updates"), count(one.updates));
    assert.equal(await cellOf(page, one.id, "version"), count(one.version));
    assert.equal(await cellOf(page, one.id, "share"), share(one.share));
  }
  const metrics = await (await fetch(new URL("metrics", url))).text();
  for (const line of [`metis_update_requests_total ${wanted.requests}`, `metis_community_version ${wanted.version}`, 'metis_phase{phase="paused"} 1'])
    assert.ok(metrics.includes(`${line}\n`), `${line}\n${metrics}`);
  await shoot(page, SCREENSHOTS, "live-paused");
});

test("a second controller says that the port is taken, and goes on without", async () => {
  const taken = new URL(url).host;
  const second = start("controller", "--run", path.join(home, "second"), "--insecure", "--listen", "127.0.0.1:0", "--dashboard", taken);
  await until("complaint", () => second.said.includes(`no dashboard: can't listen on ${taken} (Address already in use)`));
  await until("progress", () => second.said.includes("waiting, 0 learners"));
  assert.equal(second.ended, false);
  second.process.kill("SIGINT");
  await until("its end", () => second.ended);
});

test("the page sees the end, and that it was one", async () => {
  operate("stop", run);
  await shows(page, "phase", "Finished");
  await page.waitForSelector('html[data-contact="over"]', WAIT);
  assert.match(await page.textContent("#notice"), /has finished and its controller has ended/);
  await until("the end of all", () => processes.every(({ ended }) => ended));
  const refused = complaints.filter((text) => !/ERR_CONNECTION|Failed to load resource/.test(text));
  assert.deepEqual(refused, []);
  await shoot(page, SCREENSHOTS, "live-finished");
});
