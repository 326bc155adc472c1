// The dashboard beside many connected learners of which some move large models without pause: it stays responsive, and
// what stands on it is what `metis status --json` says. status_load_test holds the load and adds the last two arguments:
//
//   status_load_test BIN --beside node loaded_dashboard_test.mjs BIN [--screenshots DIRECTORY] RUN ADDRESS

import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import { parseArgs } from "node:util";
import { launch, runProgram } from "./browser.mjs";
import {
  clickToPaint, count, drawn, MOST_TABLES, names, openDashboard, passes, share, shoot, tableWork, WAIT, watchStatuses, watchWork,
} from "./dashboard_page.mjs";

const { values: options, positionals } = parseArgs({ options: { screenshots: { type: "string" } }, allowPositionals: true });
const [bin, run, url] = positionals;
const LOOKS = 5;

let browser;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

const status = () => JSON.parse(runProgram(path.join(bin, "metis"), "status", run, "--json"));
const number = (text) => Number(/^[\d,.]+/.exec(text)[0].replaceAll(",", ""));
const UNITS = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const bytes = (text) => number(text) * UNITS[/[kMGT]?B$/.exec(text)[0]];

// All of it at one moment: the page shows one status after the other, each as a whole.
const readPage = (page) =>
  page.evaluate(() => {
    const texts = (elements, name, of) => Object.fromEntries([...elements].map((one) => [one.dataset[name], of(one)]));
    const fields = texts(document.querySelectorAll("[data-field]"), "field", (one) => one.textContent);
    const cells = (row) => texts(row.querySelectorAll("[data-column]"), "column", (one) => one.querySelector(":scope > span").textContent);
    const rows = texts(document.querySelectorAll("#learners tbody tr"), "id", cells);
    return { fields, rows, lead: document.querySelector(".lead").textContent };
  });

// Numbers of the page that were compared with those of two statuses, one from before and one from after.
class Comparison {
  numbers = 0;

  same(shown, wanted, what) {
    this.numbers += 1;
    assert.equal(shown, wanted, what);
  }
  between(low, shown, high, what) {
    this.numbers += 1;
    assert.ok(low <= shown && shown <= high, `${what}: ${shown} on the page, ${low} before it and ${high} after it`);
  }

  page({ fields, rows, lead }, earlier, later) {
    const learners = later.participants.length;
    this.same(fields.phase, "Running", "phase");
    this.same(fields.learners, count(learners), "learners connected");
    this.same(later.connected, learners, "connected");
    this.same(fields["learners-note"], `of ${count(learners)}`, "learners");
    this.between(earlier.requests, number(fields.requests), later.requests, "update requests");
    this.between(earlier.version, number(/Version ([\d,]+)/.exec(lead)[1]), later.version, "version");
    // Three digits are shown.
    this.between(0.995 * earlier.bytes_received, bytes(fields.traffic), 1.005 * later.bytes_received, "received");
    assert.equal(Object.keys(rows).length, learners);
    const updates = Object.values(rows).reduce((sum, cells) => sum + number(cells.updates), 0);
    this.same(updates, number(fields.requests), "updates of all");
    later.participants.forEach((one, i) => this.row(rows[one.id], earlier.participants[i], one));
  }

  row(cells, earlier, later) {
    const what = (column) => `${column} of ${later.name}`;
    assert.equal(earlier.id, later.id);
    this.same(cells.name, later.name, what("name"));
    this.same(cells.examples, count(later.training_examples), what("examples"));
    this.between(earlier.updates, number(cells.updates), later.updates, what("updates"));
    this.between(earlier.version, number(cells.version), later.version, what("version"));
    // It grows until the learner is sent the next model.
    if (earlier.version === later.version) this.between(earlier.staleness, number(cells.staleness), later.staleness, what("staleness"));
    if (earlier.share === later.share) this.same(cells.share, later.share === 0 ? "–" : share(later.share), what("share"));
  }
}

// Scrolls to every row; how many of them can then be seen.
const reachable = (page) =>
  page.$$eval("#learners tbody tr", (rows) => {
    const seen = rows.filter((row) => {
      row.scrollIntoView({ block: "center" });
      const { left, top, height } = row.getBoundingClientRect();
      return row.contains(document.elementFromPoint(left + 20, top + height / 2));
    });
    return seen.length;
  });

// Looks again and again while the federation goes on; the first status and the last.
async function follow(page, compared) {
  const first = status();
  let latest = first;
  for (let look = 0; look < LOOKS; ++look) {
    const earlier = latest;
    await passes(page, earlier.requests);
    const shown = await readPage(page);
    latest = status();
    compared.page(shown, earlier, latest);
  }
  return [first, latest];
}

// Sorts, filters and searches; the most work for a click, and the longest wait.
async function handle(page, worked, participants) {
  const byExamples = [...participants].sort((a, b) => b.training_examples - a.training_examples).map(({ name }) => name);
  const clicks = [];
  const click = async (selector) => clicks.push(await clickToPaint(page, worked, selector));
  await click('#learners th[data-column="examples"] button');
  assert.deepEqual(await names(page), byExamples);
  await click('#learners th[data-column="examples"] button');
  assert.deepEqual(await names(page), byExamples.reverse());
  await click(".chips button:last-child");
  await click('.chips [data-state=""]');
  assert.equal(await page.textContent('.chips [data-state=""]'), `all ${count(participants.length)}`);
  await click('#learners th[data-column="name"] button');
  await page.fill('input[type="search"]', participants.at(-1).name);
  assert.deepEqual(await names(page), [participants.at(-1).name]);
  await page.fill('input[type="search"]', "");
  assert.equal((await names(page)).length, participants.length);
  return { most: Math.max(...clicks.map(({ work }) => work)), longest: Math.max(...clicks.map(({ passed }) => passed)) };
}

for (const colorScheme of ["light", "dark"]) {
  test(`${colorScheme}: the page follows, answers and has the numbers of metis status`, async (t) => {
    const { participants } = status();
    const begin = performance.now();
    const { page, complaints, close } = await openDashboard(browser, url, { colorScheme });
    await page.waitForFunction((n) => document.querySelectorAll("#learners tbody tr").length === n, participants.length, WAIT);
    const opened = performance.now() - begin;
    for (const id of ["staleness", "cycles", "rate", "memory"]) await drawn(page, id);
    await shoot(page, options.screenshots, `loaded-${colorScheme}`);
    const worked = await watchWork(page);
    const workedSince = await watchStatuses(page, worked);
    const compared = new Comparison();
    const [first, latest] = await follow(page, compared);
    const work = await workedSince();
    const answers = await handle(page, worked, participants);
    const table = await tableWork(page, worked);
    assert.equal(await reachable(page), participants.length);
    t.diagnostic(`${participants.length} learners, ${latest.parameters} parameters, ${latest.requests - first.requests} update requests meanwhile`);
    t.diagnostic(`${compared.numbers} numbers compared in ${LOOKS} looks`);
    t.diagnostic(`opened with all its rows after ${opened.toFixed(0)} ms`);
    t.diagnostic(`from a click to its picture at most ${answers.longest.toFixed(0)} ms, of them ${answers.most.toFixed(0)} ms of work at most`);
    t.diagnostic(`worked for ${work.toFixed(0)} ms for each status, ${(work / table).toFixed(1)} times a table's ${table.toFixed(1)} ms`);
    assert.ok(work > 0 && work < MOST_TABLES * table, `${work} ms for a status, ${table} ms for a table`);
    // A status may come in between.
    assert.ok(answers.most < 2 * MOST_TABLES * table, `${answers.most} ms for a click, ${table} ms for a table`);
    assert.deepEqual(complaints, []);
    await close();
  });
}
