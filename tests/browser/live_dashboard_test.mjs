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

const BIN = path.resolve(process.argv[2] ?? "build/dev/bin");
const SCREENSHOTS = process.argv[3];
const LEARNERS = 3;
const WAIT = { timeout: 120_000 };
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

let home, run, url, browser, page;
const processes = [];
const complaints = [];

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

const field = (name) => page.textContent(`[data-field="${name}"]`);
const operate = (...words) => execFileSync(path.join(BIN, "metis"), words, { encoding: "utf8", timeout: 120_000 });
const status = () => JSON.parse(operate("status", run, "--json"));
const count = (value) => value.toLocaleString("en-US");
const cells = (column) =>
  page.$$eval(`#learners tbody [data-column="${column}"] > span`, (found) => found.map((cell) => cell.textContent));
async function shoot(name) {
  if (SCREENSHOTS) await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

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
  page = await (await browser.newContext({ viewport: { width: 1400, height: 900 } })).newPage();
  page.setDefaultTimeout(WAIT.timeout);
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url);
});

after(async () => {
  await browser?.close();
  for (const one of processes) if (!one.ended) one.process.kill("SIGKILL");
  if (home) rmSync(home, { recursive: true, force: true });
});

test("it follows a federation that learns", async () => {
  await page.waitForFunction((n) => document.querySelectorAll("#learners tbody tr").length === n, LEARNERS + 1, WAIT);
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Running", undefined, WAIT);
  for (const id of ["convergence", "staleness", "cycles", "rate", "memory"])
    await page.waitForSelector(`#${id} svg path`, { ...WAIT, state: "attached" });
  const before = Number((await field("requests")).replaceAll(",", ""));
  const more = (n) => Number(document.querySelector('[data-field="requests"]').textContent.replaceAll(",", "")) > n;
  await page.waitForFunction(more, before, WAIT);
  await shoot("live-running");
});

// Paused, it stands still: the page, metis status and the metrics must agree to the last digit.
test("a paused federation has the same numbers on the page, in metis status and in the metrics", async () => {
  operate("pause", run);
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Paused", undefined, WAIT);
  const wanted = status();
  await page.waitForFunction(
    (n) => document.querySelector('[data-field="requests"]').textContent === n, count(wanted.requests), WAIT);
  assert.equal(wanted.phase, "paused");
  assert.ok((await page.textContent(".lead")).includes(`Version ${count(wanted.version)} `));
  assert.equal(await field("accuracy"), `${(100 * wanted.tests.at(-1).accuracy).toFixed(1)}\u00a0%`);
  assert.deepEqual((await cells("name")).sort(), wanted.participants.map(({ name }) => name).sort());
  for (const one of wanted.participants.filter(({ role }) => role === "learner")) {
    const cell = (column) => page.textContent(`#learners tr[data-id="${one.id}"] [data-column="${column}"] > span`);
    assert.equal(await cell("updates"), count(one.updates));
    assert.equal(await cell("version"), count(one.version));
    assert.equal(await cell("share"), `${(100 * one.share).toFixed(one.share < 0.1 ? 2 : 1)}\u00a0%`);
  }
  const metrics = await (await fetch(new URL("metrics", url))).text();
  for (const line of [`metis_update_requests_total ${wanted.requests}`, `metis_community_version ${wanted.version}`, 'metis_phase{phase="paused"} 1'])
    assert.ok(metrics.includes(`${line}\n`), `${line}\n${metrics}`);
  await shoot("live-paused");
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
  await page.waitForFunction(() => document.querySelector("h1").textContent === "Finished", undefined, WAIT);
  await page.waitForSelector('html[data-contact="over"]', WAIT);
  assert.match(await page.textContent("#notice"), /has finished and its controller has ended/);
  await until("the end of all", () => processes.every(({ ended }) => ended));
  const refused = complaints.filter((text) => !/ERR_CONNECTION|Failed to load resource/.test(text));
  assert.deepEqual(refused, []);
  await shoot("live-finished");
});
