// The page of `metis report` in a browser: what is drawn is what the runs recorded.
//
//   node report_test.mjs DIRECTORY_OF_THE_PROGRAMS

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { barHeight, corners, downloadedCsv, launch, openPage, runProgram, shapes } from "./browser.mjs";

const METIS = path.join(path.resolve(process.argv[2] ?? "build/dev/bin"), "metis");
const ADAPTIVE = "async-dvw-adaptive";
const POLICIES = [ADAPTIVE, "sync-fedavg"]; // in the order of the directories, which is the groups'
const SEEDS = [7, 8];
const DEVICES = ["fast", "slow"];
const FAULTY = 2;
const TRIANGLE = "M0 -1L1 1L-1 1Z";
const PROGRAM = ["--duration", "300s", "--sizes", "powerlaw", "--classes", "noniid:3"];

let home, report, browser, opened, page;

const directory = (policy, seed) => path.join(home, `seed-${seed}`, policy);
const summaryOf = (policy, seed) => JSON.parse(readFileSync(path.join(directory(policy, seed), "summary.json"), "utf8"));
const notesOf = (policy, seed) =>
  readFileSync(path.join(directory(policy, seed), "events.jsonl"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const updatesOf = (policy, seed) =>
  notesOf(policy, seed).filter(({ note }) => note === "committed").flatMap(({ updates }) => updates);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values) => Math.sqrt(values.reduce((sum, v) => sum + (v - mean(values)) ** 2, 0) / (values.length - 1));
const lineOf = (shape) => shape.fill === "none" && shape.width === "2";
// The accuracy between two tests, on the straight line that connects them.
function accuracyAt(tests, t) {
  const next = tests.findIndex(({ t_s }) => t_s >= t);
  if (next < 0) return tests.at(-1).accuracy;
  if (next === 0 || tests[next].t_s === t) return tests[next].accuracy;
  const [a, b] = [tests[next - 1], tests[next]];
  return a.accuracy + ((t - a.t_s) / (b.t_s - a.t_s)) * (b.accuracy - a.accuracy);
}

// The accuracies of all seeds at the tests of the first one, as long as the others were tested.
function accuracies(policy) {
  const [first, ...others] = SEEDS.map((seed) => summaryOf(policy, seed).tests);
  const end = Math.min(...others.map((tests) => tests.at(-1).t_s)) * 1.01;
  const shared = first.filter(({ t_s }) => t_s <= end);
  return shared.map(({ t_s, accuracy }) => ({ t_s, values: [accuracy, ...others.map((tests) => accuracyAt(tests, t_s))] }));
}

const near = (actual, wanted, slack, what) =>
  assert.ok(Math.abs(actual - wanted) <= slack, `${what}: ${actual}, not ${wanted} (± ${slack})`);

// The page has six digits of what is drawn.
function nearAll(actual, wanted, what) {
  assert.equal(actual.length, wanted.length, what);
  wanted.forEach((value, i) => near(actual[i], value, 1e-5 * Math.max(1, Math.abs(value)), `${what}, ${i}`));
}

// Built-in data have no wrong labels: the record is made to say so.
function markFaulty(file) {
  const partition = JSON.parse(readFileSync(file, "utf8"));
  partition.learners[FAULTY].faulty = "labels=random";
  writeFileSync(file, JSON.stringify(partition));
}

before(async () => {
  home = mkdtempSync(path.join(tmpdir(), "metis-report-"));
  for (const seed of SEEDS) {
    const words = ["--policy", POLICIES.join(","), "--seed", String(seed), "--out", path.join(home, `seed-${seed}`)];
    runProgram(METIS, "simulate", ...PROGRAM, "--set", "builtin.training_examples=2000", ...words);
    for (const policy of POLICIES) markFaulty(path.join(directory(policy, seed), "partition.json"));
  }
  report = path.join(home, "report.html");
  const places = SEEDS.map((seed) => path.join(home, `seed-${seed}`));
  runProgram(METIS, "report", ...places, "--title", "Two <policies> & two seeds", "--out", report);
  browser = await launch();
  opened = await openPage(browser, report);
  page = opened.page;
});

after(async () => {
  await browser?.close();
  if (home) rmSync(home, { recursive: true, force: true });
});

test("the heading is the title as it was given, the paragraph names what was compared", async () => {
  assert.equal(await page.textContent("h1"), "Two <policies> & two seeds");
  assert.equal(await page.title(), "Two <policies> & two seeds");
  const lead = await page.textContent(".lead");
  for (const word of [...POLICIES, "seeds 7 and 8", "10 learners (5 fast and 5 slow", "5\u00a0min"])
    assert.ok(lead.includes(word), `"${lead}" lacks "${word}"`);
});

test("the table has the numbers of the summaries", async () => {
  for (const policy of POLICIES) {
    const runs = SEEDS.map((seed) => summaryOf(policy, seed));
    const cell = async (column) => {
      const text = await page.textContent(`#results tr[data-group="${policy}"] td[data-column="${column}"]`);
      return text.replace(/\s+/g, " ").trim();
    };
    const count = (values) => `${Math.round(mean(values))} ± ${Math.round(deviation(values))}`;
    const percent = (values) => `${(100 * mean(values)).toFixed(1)} % ± ${(100 * deviation(values)).toFixed(1)}`;
    const plain = async (column) => (await cell(column)).replaceAll(",", "");
    assert.equal(await cell("seeds"), "2");
    assert.equal(await cell("final_accuracy"), percent(runs.map((run) => run.accuracy.final)));
    assert.equal(await cell("best_accuracy"), percent(runs.map((run) => run.accuracy.best)));
    assert.equal(await plain("requests"), count(runs.map((run) => run.update_requests)));
    assert.equal(await plain("models_exchanged"), count(runs.map((run) => run.models_exchanged)));
    assert.equal(await plain("models_for_evaluation"), count(runs.map((run) => run.models_for_evaluation)));
  }
});

test("the times to an accuracy are those of the first test that reaches it", async () => {
  const { columns, rows } = await downloadedCsv(page, "results");
  const targets = columns.filter((column) => column.startsWith("time_to_"));
  assert.ok(targets.length > 0, `no target among ${columns}`);
  assert.equal(rows.length, POLICIES.length * SEEDS.length);
  for (const row of rows)
    for (const column of targets) {
      const target = Number(column.split("_")[2]);
      const reached = summaryOf(row.group, row.seed).tests.find(({ accuracy }) => accuracy >= target);
      assert.equal(row[column], reached ? String(reached.t_s) : "", `${row.group}, seed ${row.seed}: ${column}`);
    }
});

test("convergence has a line and a band for each group, through the means of the tests", async () => {
  const drawn = await shapes(page, "convergence");
  const lines = drawn.filter(lineOf);
  assert.equal(lines.length, POLICIES.length);
  assert.equal(drawn.filter((shape) => shape.opacity === "0.16").length, POLICIES.length);
  POLICIES.forEach((policy, i) => {
    const means = accuracies(policy).map(({ values }) => mean(values));
    const points = corners(lines[i].d);
    assert.equal(points.length, means.length, `points of ${policy}`);
    // Pixels are a straight function of the mean.
    const top = means.indexOf(Math.max(...means));
    const scale = (points[top][1] - points[0][1]) / (means[top] - means[0]);
    assert.ok(scale < -100, `${policy} is drawn upwards: ${scale}`);
    means.forEach((value, k) => near(points[k][1], points[0][1] + scale * (value - means[0]), 0.1, `${policy}, test ${k}`));
  });
});

test("convergence over requests ends where both seeds have their requests", async () => {
  await page.click('#convergence [data-choice="requests"]');
  const { rows } = await downloadedCsv(page, "convergence");
  for (const policy of POLICIES) {
    const most = SEEDS.map((seed) => Math.max(...summaryOf(policy, seed).tests.map(({ requests }) => requests)));
    const last = rows.filter(({ group }) => group === policy).at(-1);
    assert.ok(Number(last.requests) <= Math.max(...most) && Number(last.requests) >= 0.8 * Math.min(...most), last.requests);
  }
  assert.equal((await shapes(page, "convergence")).filter(lineOf).length, POLICIES.length);
  await page.click('#convergence [data-choice="time"]');
});

test("the CSV file of convergence has the chart's values", async () => {
  const { name, rows } = await downloadedCsv(page, "convergence");
  assert.equal(name, "convergence-time.csv");
  for (const policy of POLICIES) {
    const wanted = accuracies(policy);
    const mine = rows.filter(({ group }) => group === policy);
    assert.equal(mine.length, wanted.length);
    mine.forEach((row, k) => {
      const { t_s, values } = wanted[k];
      assert.equal(Number(row.t_s), t_s);
      near(Number(row.accuracy_mean), mean(values), 1e-9, `${policy}, test ${k}`);
      near(Number(row.accuracy_lowest), Math.min(...values), 1e-9, `${policy}, test ${k}`);
      near(Number(row.accuracy_highest), Math.max(...values), 1e-9, `${policy}, test ${k}`);
    });
  }
});

test("a legend entry takes its line away and brings it back, by mouse and by keyboard", async () => {
  const entry = page.locator(`#convergence .legend button[data-name="${ADAPTIVE}"]`);
  // A line that comes back is drawn after those that stayed.
  const lines = async () => (await shapes(page, "convergence")).filter(lineOf).sort((a, b) => (a.d < b.d ? -1 : 1));
  const all = await lines();
  const [gone] = (await shapes(page, "convergence")).filter(lineOf);
  await entry.click();
  assert.equal(await entry.getAttribute("aria-pressed"), "false");
  assert.deepEqual(await lines(), all.filter(({ d }) => d !== gone.d));
  await entry.focus();
  await page.keyboard.press("Enter");
  assert.equal(await entry.getAttribute("aria-pressed"), "true");
  assert.deepEqual(await lines(), all);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.name), ADAPTIVE);
});

test("the data distribution is drawn where the runs say how their data was dealt", async () => {
  const file = path.join(directory(ADAPTIVE, SEEDS[0]), "partition.json");
  if (!existsSync(file)) {
    assert.equal(await page.locator("#distribution").count(), 0);
    assert.match((await page.locator(".absent").allTextContents()).join(), /data distribution is left out/);
    return;
  }
  const { learners } = JSON.parse(readFileSync(file, "utf8"));
  const held = learners.flatMap(({ class_counts }) => class_counts.filter((n) => n > 0)).length;
  const drawn = (await shapes(page, "distribution")).filter(({ fill }) => fill !== "none");
  const triangles = drawn.filter(({ d }) => d === TRIANGLE);
  assert.equal(triangles.length, 1, "the mark of the faulty learner");
  assert.equal(drawn.length - triangles.length, held);
  const classes = learners[0].class_counts.filter((_, c) => learners.some(({ class_counts }) => class_counts[c] > 0));
  assert.equal(await page.locator("#convergence .inset svg path").count(), classes.length + 2); // the mark, the ground
  const { rows } = await downloadedCsv(page, "distribution");
  rows.forEach((row, k) =>
    assert.deepEqual(learners[k].class_counts, learners[k].class_counts.map((_, c) => Number(row[`class_${c}`]))));
});

test("the map of classes has a cell for each class and test", async () => {
  await page.selectOption("#classes select", `${ADAPTIVE}, seed ${SEEDS[1]}`);
  const tested = notesOf(ADAPTIVE, SEEDS[1]).filter(({ event }) => event === "tested");
  const cells = (await shapes(page, "classes")).filter(({ fill }) => fill !== "none");
  const { rows } = await downloadedCsv(page, "classes");
  const classes = Math.sqrt(tested[0].counts.length);
  assert.equal(cells.length, tested.length * classes);
  assert.equal(rows.length, cells.length);
  const last = tested.at(-1).counts;
  rows.slice(-classes).forEach((row, c) => {
    const actual = last.slice(c * classes, (c + 1) * classes);
    near(Number(row.accuracy), actual[c] / actual.reduce((a, b) => a + b), 1e-9, `class ${c}`);
  });
});

test("every learner with an update has a line of contributions", async () => {
  await page.selectOption("#contributions select", `${ADAPTIVE}, seed ${SEEDS[0]}`);
  const updates = updatesOf(ADAPTIVE, SEEDS[0]);
  const learners = new Set(updates.map(({ id }) => id.learner));
  const lines = async () => {
    const drawn = (await shapes(page, "contributions")).filter(({ fill }) => fill === "none");
    return ["1.5", "3"].map((wide) => drawn.filter(({ width }) => width === wide).length);
  };
  // The record says who is faulty from the version on that writes partition.json.
  const bold = existsSync(path.join(directory(ADAPTIVE, SEEDS[0]), "partition.json")) ? 1 : 0;
  assert.ok(learners.has(FAULTY));
  assert.deepEqual(await lines(), [learners.size - bold, bold]);
  const { rows } = await downloadedCsv(page, "contributions");
  for (const learner of learners)
    nearAll(
      rows.filter((row) => Number(row.learner) === learner).map((row) => Number(row.contribution)),
      updates.filter(({ id }) => id.learner === learner).map(({ contribution }) => contribution),
      `contributions of learner ${learner}`,
    );
  await page.click('#contributions .legend button[data-name="slow"]');
  const fast = summaryOf(ADAPTIVE, SEEDS[0]).learners.filter((l) => l.group === "fast" && l.updates > 0);
  assert.deepEqual(await lines(), [fast.length - bold, bold]); // the faulty one is fast
});

test("validation cycles are separate lines, each with the mark of its reason", async () => {
  const firsts = DEVICES.map((group) => summaryOf(ADAPTIVE, SEEDS[0]).learners.find((l) => l.group === group && l.updates > 0));
  const updates = updatesOf(ADAPTIVE, SEEDS[0]);
  const cycles = firsts.map(({ learner }) => updates.filter(({ id }) => id.learner === learner).slice(0, 40));
  const drawn = await shapes(page, "cycles");
  const lines = drawn.filter(({ fill, width }) => fill === "none" && width === "1.75");
  const starts = lines.map(({ d }) => d.match(/M/g).length);
  assert.deepEqual(starts, cycles.map((of) => of.length));
  assert.equal(drawn.filter(({ fill }) => fill !== "none").length, cycles.flat().length);
  const { rows } = await downloadedCsv(page, "cycles");
  nearAll(
    rows.map((row) => Number(row.validation_loss)),
    cycles.flat().flatMap(({ cycle }) => cycle.losses),
    "losses",
  );
});

test("staleness has a bar for each filled bin, and lines at median and mean of each group of devices", async () => {
  const drawn = await shapes(page, "staleness");
  const { rows } = await downloadedCsv(page, "staleness");
  assert.equal(drawn.filter(({ fill }) => fill !== "none").length, rows.filter((row) => Number(row.cycles) > 0).length);
  const lines = drawn.filter(({ fill, width }) => fill === "none" && width === "1.5");
  assert.equal(lines.filter(({ dashed }) => dashed).length, DEVICES.length);
  assert.equal(lines.filter(({ dashed }) => !dashed).length, DEVICES.length);
  const group = new Map(summaryOf(ADAPTIVE, SEEDS[0]).learners.map((l) => [l.learner, l.group]));
  for (const device of DEVICES) {
    const first = updatesOf(ADAPTIVE, SEEDS[0]).filter(({ id, cycle }) => group.get(id.learner) === device && cycle.cycle <= 20);
    const mine = rows.filter((row) => row.device_group === device);
    assert.equal(mine.reduce((sum, row) => sum + Number(row.cycles), 0), first.length);
    for (const bin of mine) {
      const inside = first.filter(({ staleness: s }) => s >= Number(bin.from_steps) && s < Number(bin.to_steps)).length;
      assert.equal(Number(bin.cycles), inside, `${device}, bin from ${bin.from_steps}`);
    }
    near(Number(mine[0].mean), mean(first.map(({ staleness }) => staleness)), 1e-6, `mean of ${device}`);
  }
});

test("bars of the federation stand in the proportion of the summaries", async () => {
  const bars = (await shapes(page, "federation")).filter(({ fill }) => fill !== "none");
  const amounts = ["update_requests", "models_exchanged", "models_for_evaluation"];
  assert.equal(bars.length, amounts.length * POLICIES.length);
  amounts.forEach((amount, i) => {
    const [a, b] = POLICIES.map((policy) => mean(SEEDS.map((seed) => summaryOf(policy, seed)[amount])));
    const [high, low] = bars.slice(i * POLICIES.length, (i + 1) * POLICIES.length).map(({ d }) => barHeight(d));
    near(low / high, b / a, 0.01, amount);
  });
});

test("a figure's numbers follow each other and every figure says its units", async () => {
  const numbers = await page.locator("figure .number").allTextContents();
  assert.deepEqual(numbers, numbers.map((_, i) => `Figure ${i + 1}`));
  for (const id of ["convergence", "classes", "contributions", "cycles", "staleness"]) {
    const words = (await page.locator(`#${id} .chart svg text`).allTextContents()).join(" ");
    assert.match(words, /\((s|min|h|%|number|nat|no unit|mini-batch steps)\)/, id);
  }
});

test("dark mode changes page and charts, by the button and by the system", async () => {
  const look = async (of) => [
    await of.evaluate(() => getComputedStyle(document.documentElement).backgroundColor),
    (await shapes(of, "convergence")).filter(lineOf).map(({ stroke }) => stroke).sort(),
  ];
  const light = await look(page);
  await page.click("#theme");
  const dark = await look(page);
  assert.notEqual(dark[0], light[0]);
  assert.ok(dark[1].every((stroke) => !light[1].includes(stroke)), `${light[1]} and ${dark[1]}`);
  await page.click("#theme");
  assert.deepEqual(await look(page), light);
  const night = await openPage(browser, report, { colorScheme: "dark" });
  assert.deepEqual(await look(night.page), dark);
  assert.deepEqual(night.complaints, []);
  await night.page.context().close();
});

test("a telephone's width shows everything without scrolling sideways", async () => {
  const phone = await openPage(browser, report, { width: 360 });
  assert.ok((await phone.page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  assert.equal((await shapes(phone.page, "convergence")).filter(lineOf).length, POLICIES.length);
  const wide = await phone.page.$$eval("figure svg", (all) => all.map((svg) => svg.getBoundingClientRect().right));
  assert.ok(Math.max(...wide) <= 360, String(wide));
  assert.deepEqual(phone.complaints, []);
  await phone.page.context().close();
});

test("the page asked nothing of the network and complained of nothing", () => {
  assert.deepEqual(opened.requests, []);
  assert.deepEqual(opened.complaints, []);
});
