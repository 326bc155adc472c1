// The dashboard's page in a browser: what it shows is what /status.json says, live, for one learner and for 200.
//
//   node dashboard_test.mjs PATH_OF_dashboard_server

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { corners, downloadedCsv, launch, shapes } from "./browser.mjs";
import {
  cellOf, count, drawn, field, MOST_TABLES, names, openDashboard, percent, share, shows, tableWork, WAIT, watchStatuses,
  watchWork,
} from "./dashboard_page.mjs";
import { madeUp } from "./made_up.mjs";

const SERVER = path.resolve(process.argv[2] ?? "build/dev/tests/browser/dashboard_server");

let browser;
const started = [];

before(async () => {
  browser = await launch();
});

after(async () => {
  await browser?.close();
  for (const server of started) server.stdin.end();
});

async function serve(status, listen = "127.0.0.1:0") {
  const server = spawn(SERVER, [listen], { stdio: ["pipe", "pipe", "inherit"] });
  started.push(server);
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: server.stdout }).once("line", resolve);
    server.once("exit", () => reject(new Error("dashboard_server ended without an address")));
  });
  const publish = (next) => server.stdin.write(`${JSON.stringify(next)}\n`);
  if (status) publish(status);
  while (status && !(await fetch(new URL("status.json", url))).ok) await pause(20); // until it has read it
  const end = () =>
    new Promise((resolve) => {
      server.once("exit", resolve);
      server.stdin.end();
    });
  return { url, publish, end };
}

async function openOn(status, options) {
  const server = await serve(status);
  const opened = await openDashboard(browser, server.url, options);
  await opened.page.waitForSelector("footer");
  return { ...server, ...opened };
}

const noticeOf = (page) => page.$eval("#notice", (element) => (element.hidden ? "" : element.textContent));
const answerOf = async (url) => (await fetch(new URL("status.json", url))).json();

test("the numbers on the page are those of /status.json", async () => {
  const { page, url, complaints, close } = await openOn(madeUp({ learners: 10 }));
  const status = await answerOf(url);
  assert.equal(await field(page, "phase"), "Running");
  assert.equal(await field(page, "requests"), count(status.requests));
  assert.equal(await field(page, "accuracy"), percent(status.tests.at(-1).accuracy));
  assert.ok((await field(page, "accuracy-note")).includes(percent(status.best.accuracy)));
  const learners = status.participants.filter(({ role }) => role === "learner");
  assert.equal(await field(page, "learners"), count(learners.filter(({ connected }) => connected).length));
  assert.equal(await field(page, "learners-note"), `of ${learners.length}, 1 observer`);
  assert.equal(await field(page, "part"), `${percent(status.part)} of the way to its end`);
  for (const word of [status.policy, status.dataset, status.model, `Version ${count(status.version)}`])
    assert.ok((await page.textContent(".lead")).includes(word), word);
  for (const one of status.participants) {
    const cell = (column) => cellOf(page, one.id, column);
    assert.equal(await cell("name"), one.name);
    assert.equal(await cell("state"), one.state);
    assert.equal(await cell("version"), count(one.version));
    if (one.role !== "learner") continue;
    assert.equal(await cell("share"), share(one.share));
    assert.equal(Number(await cell("contribution")), Number(one.contribution.toPrecision(3)));
    assert.equal(await cell("staleness"), one.staleness === null ? "–" : count(one.staleness));
    assert.equal(await cell("updates"), count(one.updates) + (one.rejected > 0 ? ` (${one.rejected})` : ""));
    assert.equal(await cell("epochs"), count(one.epochs));
  }
  const events = await page.$$eval(".events li span", (lines) => lines.map((line) => line.textContent));
  assert.deepEqual(events, status.events.map(({ text }) => text).reverse());
  assert.deepEqual(complaints, []);
  await close();
});

test("convergence goes through every test, over time and over requests", async () => {
  const { page, url, close } = await openOn(madeUp({ learners: 4, seconds: 900 }));
  const { tests } = await answerOf(url);
  for (const [choice, x] of [["time", "time_s"], ["requests", "requests"]]) {
    await page.click(`#convergence [data-choice="${choice}"]`);
    const line = (await shapes(page, "convergence")).find((shape) => shape.fill === "none" && shape.width === "2" && corners(shape.d).length > 9);
    const points = corners(line.d);
    assert.equal(points.length, tests.length);
    const [first, last] = [0, tests.length - 1];
    const part = (values, i) => (values[i] - values[first]) / (values[last] - values[first]);
    tests.forEach((_, i) => {
      const across = part(points.map(([at]) => at), i) - part(tests.map((one) => one[x]), i);
      const up = part(points.map(([, at]) => at), i) - part(tests.map((one) => one.accuracy), i);
      assert.ok(Math.abs(across) < 0.01 && Math.abs(up) < 0.01, `test ${i}: ${across}, ${up}`);
    });
  }
  const { rows } = await downloadedCsv(page, "convergence");
  assert.deepEqual(rows.map((row) => Number(row.accuracy)), tests.map(({ accuracy }) => accuracy));
  await close();
});

test("it follows the controller without being drawn anew", async () => {
  const { page, url, publish, complaints, close } = await openOn(madeUp({ learners: 10, seconds: 1000 }));
  await drawn(page, "convergence");
  await page.evaluate(() => {
    for (const kept of document.querySelectorAll("#learners tr, .tile strong, .chart > div:first-child, .events li")) kept.dataset.kept = "yes";
  });
  const kept = await page.$$eval("[data-kept]", (all) => all.length);
  const next = madeUp({ learners: 10, seconds: 1300 });
  next.events.push({ time_s: 1300, text: "site-3 was withdrawn" });
  publish(next);
  await shows(page, "requests", count(next.requests));
  assert.equal(await page.textContent(".events li:first-child span"), "site-3 was withdrawn");
  assert.equal(await field(page, "accuracy"), percent((await answerOf(url)).tests.at(-1).accuracy));
  const still = await page.$$eval("[data-kept]", (all) => all.length);
  assert.equal(still, kept);
  assert.equal(await page.$$eval("#learners tbody tr:not([data-kept])", (rows) => rows.length), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("a tooltip stays while new values come", async () => {
  const { page, publish, close } = await openOn(madeUp({ learners: 3, seconds: 600 }));
  await drawn(page, "convergence");
  await page.hover("#convergence .chart", { position: { x: 300, y: 150 } });
  await page.waitForSelector("#convergence .tip");
  await page.$eval("#convergence .tip", (tip) => (tip.dataset.old = "yes"));
  const next = madeUp({ learners: 3, seconds: 640 });
  publish(next);
  await shows(page, "accuracy", percent(next.tests.at(-1).accuracy));
  await page.waitForSelector("#convergence .tip:not([data-old])"); // the chart's next drawing has one of its own
  await close();
});

test("one learner needs no filters", async () => {
  const { page, complaints, close } = await openOn(madeUp({ learners: 1, observers: 0, seconds: 120 }));
  assert.deepEqual(await names(page), ["site-1"]);
  assert.equal(await page.isVisible(".filters"), false);
  assert.equal(await page.textContent('#learners [data-column="share"] > span'), share(1));
  assert.match(await page.textContent(".lead"), /^1 learner trains /);
  assert.match(await page.textContent("#convergence .empty"), /No version has been tested yet/);
  assert.deepEqual(complaints, []);
  await close();
});

test("200 learners are sorted, filtered and found", async () => {
  const { page, url, publish, complaints, close } = await openOn(madeUp({ learners: 200 }));
  const { participants } = await answerOf(url);
  assert.equal((await names(page)).length, 201);
  assert.deepEqual((await names(page)).slice(0, 3), ["site-1", "site-2", "site-3"]);
  await page.click('#learners th[data-column="share"] button');
  const byShare = [...participants].sort((a, b) => b.share - a.share);
  assert.deepEqual((await names(page)).slice(0, 9), byShare.slice(0, 9).map(({ name }) => name));
  await page.click('#learners th[data-column="share"] button');
  assert.equal((await names(page)).at(-1), byShare[0].name);
  await page.click('.chips [data-state="lost"]');
  const lost = participants.filter(({ state }) => state === "lost");
  assert.ok(lost.length > 1);
  assert.deepEqual((await names(page)).sort(), lost.map(({ name }) => name).sort());
  await page.click('.chips [data-state=""]');
  await page.fill('input[type="search"]', "site-19");
  const found = participants.filter(({ name }) => name.includes("site-19")).map(({ name }) => name);
  assert.deepEqual((await names(page)).sort(), found.sort());
  // What was chosen stays while the federation goes on.
  const next = madeUp({ learners: 200, seconds: 2100 });
  publish(next);
  await shows(page, "requests", count(next.requests));
  assert.deepEqual((await names(page)).sort(), found.sort());
  assert.deepEqual(complaints, []);
  await close();
});

test("the page stays responsive with 200 learners", async (t) => {
  const { page, publish, close } = await openOn(madeUp({ learners: 200, seconds: 3000 }));
  const worked = await watchWork(page);
  const workedSince = await watchStatuses(page, worked);
  for (let second = 1; second <= 4; ++second) {
    const next = madeUp({ learners: 200, seconds: 3000 + 60 * second });
    publish(next);
    await shows(page, "requests", count(next.requests));
  }
  const work = await workedSince();
  const table = await tableWork(page, worked);
  t.diagnostic(`worked for ${work.toFixed(0)} ms for each status, ${(work / table).toFixed(1)} times a table's ${table.toFixed(1)} ms`);
  assert.ok(work > 0 && work < MOST_TABLES * table, `${work} ms for a status, ${table} ms for a table`);
  await close();
});

test("dark and light are the reader's choice", async () => {
  const { page, close } = await openOn(madeUp({ learners: 3 }), { colorScheme: "dark" });
  const colour = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const line = async () => (await shapes(page, "convergence")).find((shape) => shape.width === "2")?.stroke;
  const dark = [await colour(), await line()];
  await page.click("#theme");
  const light = [await colour(), await line()];
  assert.deepEqual(dark, ["rgb(25, 26, 28)", "#4aa3df"]);
  assert.deepEqual(light, ["rgb(253, 252, 250)", "#0072b2"]);
  await close();
});

test("names are text, whatever they are made of", async () => {
  const status = madeUp({ learners: 2 });
  status.participants[0].name = '<img src=x onerror="document.title=1">';
  status.participants[0].group = "<b>fast</b>";
  status.events.push({ time_s: 1999, text: "<script>alert(1)</script>" });
  status.federation = "<i>f</i>";
  const { page, complaints, close } = await openOn(status);
  assert.ok((await names(page)).includes(status.participants[0].name));
  assert.equal(await page.textContent(".events li:first-child span"), "<script>alert(1)</script>");
  assert.equal(await page.$$eval("main img, main b, main script, .federation i", (found) => found.length), 0);
  assert.deepEqual(complaints, []);
  await close();
});

test("waiting and paused say why", async () => {
  const { page, publish, close } = await openOn(madeUp({ learners: 7, phase: "waiting", observers: 0, seconds: 5 }));
  assert.equal(await field(page, "phase"), "Waiting for learners");
  assert.equal(await field(page, "phase_reason"), "7 of 10 learners have joined.");
  publish(madeUp({ learners: 10, phase: "paused" }));
  await shows(page, "phase", "Paused");
  assert.equal(await field(page, "phase_reason"), "An operator paused it.");
  await close();
});

test("a controller that is gone is missed, and welcome back", async () => {
  const first = madeUp({ learners: 5, seconds: 700 });
  const { page, url, end, close } = await openOn(first);
  await end();
  await page.waitForSelector('html[data-contact="gone"]', WAIT);
  assert.match(await noticeOf(page), /^The controller has not answered since \d\d:\d\d:\d\d.* metis controller --run runs\/first/);
  assert.equal(await field(page, "phase"), "No contact");
  assert.match(await page.title(), /^No contact/);
  assert.equal(await field(page, "requests"), count(first.requests));
  const again = madeUp({ learners: 5, seconds: 900 });
  await serve(again, new URL(url).host);
  await page.waitForSelector('html[data-contact="live"]', WAIT);
  await shows(page, "requests", count(again.requests));
  assert.equal(await field(page, "phase"), "Running");
  assert.equal(await noticeOf(page), "");
  await close();
});

test("a page that is slow itself does not miss its controller", async () => {
  const { page, publish, close } = await openOn(madeUp({ learners: 2, seconds: 700 }));
  await page.waitForSelector('html[data-contact="live"]', WAIT);
  await page.evaluate(() => {
    const { json } = Response.prototype;
    Response.prototype.json = async function () {
      const end = performance.now() + 3500; // longer than a controller may be silent
      while (performance.now() < end) continue;
      return json.call(this);
    };
    globalThis.contacts = [];
    const note = () => globalThis.contacts.push(document.documentElement.dataset.contact);
    new MutationObserver(note).observe(document.documentElement, { attributeFilter: ["data-contact"] });
  });
  for (const seconds of [800, 900]) {
    const next = madeUp({ learners: 2, seconds });
    publish(next);
    await shows(page, "requests", count(next.requests));
  }
  assert.deepEqual(await page.evaluate(() => globalThis.contacts), []);
  await close();
});

test("the end of a finished federation is no alarm", async () => {
  const { page, end, close } = await openOn(madeUp({ learners: 5, phase: "finished", seconds: 3600 }));
  assert.equal(await field(page, "phase"), "Finished");
  assert.equal(await field(page, "phase_reason"), "Ended by: duration.");
  await end();
  await page.waitForSelector('html[data-contact="over"]', WAIT);
  assert.match(await noticeOf(page), /has finished and its controller has ended/);
  await close();
});

test("a controller that has no status yet is starting, and one that repeats itself is silent", async () => {
  const server = await serve(null);
  const { page, close } = await openDashboard(browser, server.url);
  await page.waitForSelector('html[data-contact="starting"]', WAIT);
  assert.match(await noticeOf(page), /just starting/);
  server.publish(madeUp({ learners: 2 }));
  await page.waitForSelector('html[data-contact="live"]', WAIT);
  await page.waitForSelector('html[data-contact="silent"]', WAIT);
  assert.match(await noticeOf(page), /has said nothing new since/);
  await close();
});

test("a phone shows all of it in one column", async () => {
  const { page, publish, close } = await openOn(madeUp({ learners: 10 }), { width: 390 });
  // Curves begin with the second sample, of which the server takes one a second.
  let seconds = 2003;
  const ticking = setInterval(() => publish(madeUp({ learners: 10, seconds: ++seconds })), 500);
  for (const id of ["convergence", "staleness", "cycles", "rate", "memory"]) await drawn(page, id);
  clearInterval(ticking);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} pixels too wide`);
  await close();
});
