// Programs and a browser for the tests of the pages: Debian's Chromium, headless, offline, every wait bounded.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const fromWeb = createRequire(new URL("../../web/package.json", import.meta.url));
const CHROMIUM = "/usr/bin/chromium";
const WAIT_MS = 120_000; // ends what hangs, on a busy machine too

export function runProgram(program, ...words) {
  return execFileSync(program, words, { encoding: "utf8", timeout: 300_000 });
}

export async function launch() {
  if (!existsSync(CHROMIUM)) throw new Error(`${CHROMIUM} is missing: scripts/setup.sh installs it`);
  const { chromium } = fromWeb("playwright-core");
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"], timeout: WAIT_MS });
}

// What the console says that it should not have to, as it comes.
export function noteComplaints(page) {
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  return complaints;
}

// A page that notes what must never happen: complaints of the console, and requests beyond its own file.
export async function openPage(browser, file, { width = 1280, colorScheme = "light" } = {}) {
  const context = await browser.newContext({ offline: true, viewport: { width, height: 900 }, colorScheme });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const url = `file://${file}`;
  const complaints = noteComplaints(page);
  const requests = [];
  page.on("request", (request) => {
    const known = request.url() === url || /^(data|blob):/.test(request.url());
    if (!known) requests.push(request.url());
  });
  await page.goto(url);
  await page.waitForSelector("footer");
  return { page, complaints, requests };
}

// The shapes of a chart as they are drawn, without its axes' clip paths.
export function shapes(page, id) {
  return page.$$eval(`#${id} .chart > div svg path`, (paths) =>
    paths
      .filter((path) => !path.closest("clipPath"))
      .map((path) => ({
        d: path.getAttribute("d"),
        fill: path.getAttribute("fill"),
        stroke: path.getAttribute("stroke"),
        width: path.getAttribute("stroke-width"),
        dashed: path.hasAttribute("stroke-dasharray"),
        opacity: path.getAttribute("fill-opacity"),
      })),
  );
}

// The corners of a path of straight lines.
export function corners(d) {
  return [...d.matchAll(/[ML]\s*(-?[\d.]+)[ ,](-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
}

// Height of a bar that was drawn with absolute coordinates.
export function barHeight(d) {
  const heights = corners(d).map(([, y]) => y);
  return Math.max(...heights) - Math.min(...heights);
}

export async function downloadedCsv(page, id) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(`#${id} .csv`)]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  const [head, ...lines] = Buffer.concat(chunks).toString("utf8").trimEnd().split("\r\n");
  const columns = head.split(",");
  const rows = lines.map((line) => Object.fromEntries(fields(line).map((text, i) => [columns[i], text])));
  return { name: download.suggestedFilename(), columns, rows };
}

function fields(line) {
  return [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
    .slice(0, line.endsWith(",") ? undefined : -1)
    .map(([, text]) => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text));
}
