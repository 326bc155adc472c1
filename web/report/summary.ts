// Heading, the paragraph that says what was compared, runs that are incomplete, and all settings on demand.

import { h } from "../shared/dom";
import { duration, list, plural } from "../shared/format";
import { type Group, isCentralised, type Report, type Run } from "./data";

// "1990, 1991 and 1992", or their number where they are many.
function seedsOf(runs: Run[]): string {
  const seeds = [...new Set(runs.map((run) => run.seed))].sort((a, b) => a - b);
  const named = seeds.length <= 6 ? ` ${list(seeds.map(String))}` : "";
  return seeds.length === 1 ? `seed ${seeds[0]}` : named === "" ? `${seeds.length} seeds` : `seeds${named}`;
}

function learnersOf(runs: Run[]): string {
  const describe = (run: Run) => {
    const groups = new Map<string, number>();
    for (const { group } of run.learners) groups.set(group, (groups.get(group) ?? 0) + 1);
    const parts = [...groups].map(([group, n]) => `${n} ${group}`);
    const faulty = run.learners.filter((learner) => learner.faulty !== null).length;
    const bad = faulty > 0 ? `, ${faulty} with faulty labels` : "";
    return `${plural(run.learners.length, "learner")}${parts.length > 1 ? ` (${list(parts)}${bad})` : bad}`;
  };
  const kinds = [...new Set(runs.map(describe))];
  return kinds.length <= 2 ? kinds.join(" or ") : "different numbers of learners";
}

// The settings that all groups share, and those in which they differ.
export function splitSettings(groups: Group[]): { common: [string, string][]; differing: string[] } {
  const keys = [...new Set(groups.flatMap((group) => Object.keys(group.settings)))].sort();
  const isCommon = (key: string) => groups.every((group) => group.settings[key] === groups[0].settings[key]);
  return {
    common: keys.filter(isCommon).map((key) => [key, groups[0].settings[key]]),
    differing: keys.filter((key) => !isCommon(key)),
  };
}

function dataOf(report: Report): string {
  const common = new Map(splitSettings(report.groups).common);
  const parts: string[] = [];
  const dataset = common.get("data.dataset");
  if (dataset) parts.push(dataset === "builtin" ? " on the built-in task" : ` on ${dataset}`);
  const sizes = common.get("data.sizes");
  const classes = common.get("data.classes");
  if (sizes && classes) parts.push(`, dealt with ${sizes} sizes and ${classes} classes`);
  return parts.join("");
}

function sentence(report: Report): string {
  const all = report.groups.flatMap((group) => group.runs);
  const federations = report.groups.filter((group) => !isCentralised(group));
  const labels = report.groups.map((group) => group.label);
  const what =
    labels.length === 1
      ? `${plural(all.length, "run")} of ${labels[0]}`
      : `${labels.length} groups of runs are compared${labels.length <= 8 ? `: ${list(labels)}` : ""}`;
  const federation = federations.length === 0 ? "" : federationSentence(federations.flatMap((group) => group.runs));
  return `${what}${dataOf(report)}, with ${seedsOf(all)}.${federation}${machineTimes(report)}`;
}

function federationSentence(runs: Run[]): string {
  const lengths = runs.map((run) => run.length_s);
  const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths)];
  const same = longest - shortest <= longest / 100;
  const time = same ? duration(longest) : `${duration(shortest)} to ${duration(longest)}`;
  return ` Each federation has ${learnersOf(runs)} and ran for ${time} of virtual time.`;
}

function machineTimes(report: Report): string {
  const labels = report.groups.filter(isCentralised).map((group) => group.label);
  if (labels.length === 0) return "";
  return ` One learner with all the data: ${list(labels)}; its times are those of the machine, not virtual.`;
}

const CUT = "Table and bars include incomplete runs; curves leave them out where their group has complete ones.";

function incomplete(report: Report): HTMLElement | null {
  const cut = report.groups.flatMap((group) => group.runs.filter((run) => !run.complete));
  if (cut.length === 0) return null;
  const names = cut.map((run) => `${run.directory} (seed ${run.seed}, cut off at ${duration(run.length_s)})`);
  const text =
    cut.length === 1
      ? `This run is incomplete: ${names[0]}.`
      : `These runs are incomplete: ${names.join("; ")}.`;
  return h("p", { class: "warning", role: "note" }, `${text} ${CUT}`);
}

function settings(report: Report): HTMLElement {
  const { common, differing } = splitSettings(report.groups);
  const line = (...cells: string[]) =>
    h("tr", {}, ...cells.map((cell, i) => h(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, cell)));
  const box = h("details", { class: "settings" }, h("summary", {}, "All settings"));
  if (differing.length > 0) {
    const head = h("tr", {}, h("th"), ...report.groups.map((group) => h("th", { scope: "col" }, group.label)));
    const rows = differing.map((key) => line(key, ...report.groups.map((group) => group.settings[key] ?? "–")));
    const table = h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows));
    box.append(h("h4", {}, "In which groups differ"), h("div", { class: "table-box", tabindex: "0" }, table));
  }
  const shared = h("table", {}, h("tbody", {}, ...common.map(([key, value]) => line(key, value))));
  box.append(h("h4", {}, report.groups.length > 1 ? "Of all groups" : "Of this group"), h("div", { class: "table-box" }, shared));
  return box;
}

export function header(report: Report, toggle: HTMLElement): HTMLElement {
  return h(
    "header",
    {},
    h("div", { class: "kicker" }, h("span", {}, "Metis report"), toggle),
    h("h1", {}, report.title),
    h("p", { class: "lead" }, sentence(report)),
    incomplete(report),
    settings(report),
  );
}
