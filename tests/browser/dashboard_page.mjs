// What the tests of the dashboard share: its page in a browser, what stands on it, and how much it works.

import path from "node:path";
import { noteComplaints } from "./browser.mjs";

export const WAIT = { timeout: 120_000 };
const SPACE = "\u00a0";

// A page that notes what must never happen: complaints, and requests beyond its own origin.
export async function openDashboard(browser, url, { width = 1280, colorScheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  context.setDefaultTimeout(WAIT.timeout);
  const page = await context.newPage();
  const complaints = noteComplaints(page);
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) complaints.push(`asks for ${request.url()}`);
  });
  await page.goto(url);
  return { page, complaints, close: () => context.close() };
}

export const count = (value) => Math.round(value).toLocaleString("en-US");
export const percent = (value) => `${(100 * value).toFixed(1)}${SPACE}%`;
export const share = (value) => `${(100 * value).toFixed(value < 0.1 ? 2 : 1)}${SPACE}%`;

export const field = (page, name) => page.textContent(`[data-field="${name}"]`);
export const names = (page) => page.$$eval("#learners tbody th span", (cells) => cells.map((cell) => cell.textContent));
export const cellOf = (page, id, column) => page.textContent(`#learners tr[data-id="${id}"] [data-column="${column}"] > span`);
export const shows = (page, name, text) =>
  page.waitForFunction(([f, t]) => document.querySelector(`[data-field="${f}"]`)?.textContent === t, [name, text], WAIT);
export const drawn = (page, id) => page.waitForSelector(`#${id} svg path`, { ...WAIT, state: "attached" });
// More update requests on the page than that.
export const passes = (page, requests) =>
  page.waitForFunction(
    (n) => Number(document.querySelector('[data-field="requests"]')?.textContent.replaceAll(",", "")) > n, requests, WAIT);

// Asks how many milliseconds the page's own thread has worked. Unlike the time that passes, work does not grow because
// others want the processor too.
export async function watchWork(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
  };
}

// A status costs no more work than building a table so many times: about three times what it does.
export const MOST_TABLES = 6;

// What work is measured in, so that a slow machine has no other limits than a fast one: to build a table of 200
// participants like those on the page and lay it out.
export async function tableWork(page, worked) {
  const ROWS = 200;
  const TABLES = 10;
  const begin = await worked();
  const rows = await page.evaluate((wanted) => {
    const table = document.querySelector("#learners table");
    const each = table.querySelectorAll("tbody tr").length;
    let built = 0;
    for (; built < wanted; built += each) {
      const copy = table.cloneNode(true);
      table.after(copy);
      copy.getBoundingClientRect();
      copy.remove();
    }
    return built;
  }, TABLES * ROWS);
  return (((await worked()) - begin) / rows) * ROWS;
}

// Asks for the page's work since now, for each status that came.
export async function watchStatuses(page, worked) {
  let came = 0;
  page.on("response", (response) => {
    if (response.url().endsWith("/status.json") && response.status() === 200) came += 1;
  });
  const begin = await worked();
  return async () => ((await worked()) - begin) / came;
}

// The page's work from a click until what it changed is painted, and how many milliseconds pass.
export async function clickToPaint(page, worked, selector) {
  const begin = await worked();
  const passed = await page.$eval(selector, async (element) => {
    const clicked = performance.now();
    element.click();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - clicked;
  });
  return { work: (await worked()) - begin, passed };
}

// The whole page as an image, if a directory was asked for.
export async function shoot(page, directory, name) {
  if (directory) await page.screenshot({ path: path.join(directory, `${name}.png`), fullPage: true });
}
