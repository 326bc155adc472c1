// The table of results: a row a group, means over seeds with the sample deviation.

import { type CsvTable, csvText, download } from "../shared/csv";
import { h } from "../shared/dom";
import { count, duration, percent, SPACE, trim } from "../shared/format";
import { swatch } from "../shared/legend";
import { deviation, mean } from "../shared/statistics";
import { seriesVariable } from "../shared/theme";
import { type Group, isNumber, type Report, type Run } from "./data";

type Format = (value: number) => string;

// The mean, and below it in small "± deviation" and "2 of 3" where only some seeds have a value; a dash where
// none has.
function summary(values: (number | null)[], format: Format, spread: Format): (Node | string)[] {
  const known = values.filter(isNumber);
  if (known.length === 0) return ["–"];
  const plusMinus = known.length > 1 ? [`± ${spread(deviation(known))}`] : [];
  const some = known.length < values.length ? [`${known.length} of ${values.length}`] : [];
  const small = [...plusMinus, ...some].join(", ");
  return small === "" ? [format(mean(known))] : [format(mean(known)), " ", h("small", {}, small)];
}

interface Column {
  heading: string;
  name: string; // in the CSV file
  of: (run: Run) => number | null;
  format: Format;
  spread: Format;
}

const points: Format = (value) => (100 * value).toFixed(1);

function columns(report: Report): Column[] {
  const accuracy = { format: percent, spread: points };
  const number = { format: count, spread: count };
  const time = { format: duration, spread: duration };
  return [
    { heading: "Final accuracy", name: "final_accuracy", of: (run) => run.final_accuracy, ...accuracy },
    { heading: "Best accuracy", name: "best_accuracy", of: (run) => run.best_accuracy, ...accuracy },
    ...report.target_accuracies.map((target, i) => ({
      heading: `Time to ${trim(100 * target, 1)}${SPACE}%`,
      name: `time_to_${trim(target, 4)}_s`,
      of: (run: Run) => run.time_to_accuracy_s[i] ?? null,
      ...time,
    })),
    { heading: "Update requests", name: "requests", of: (run) => run.requests, ...number },
    { heading: "Models exchanged", name: "models_exchanged", of: (run) => run.models_exchanged, ...number },
    { heading: "For evaluation", name: "models_for_evaluation", of: (run) => run.models_for_evaluation, ...number },
  ];
}

function row(group: Group, index: number, shown: Column[]): HTMLElement {
  const line = swatch({ name: group.label, mark: "line", ...seriesVariable(index) });
  const cells = shown.map((column) => {
    const values = group.runs.map(column.of);
    return h("td", { "data-column": column.name }, ...summary(values, column.format, column.spread));
  });
  const cut = group.runs.filter((run) => !run.complete).length;
  const small = cut > 0 ? h("small", {}, `${cut} incomplete`) : null;
  const seeds = h("td", { "data-column": "seeds" }, String(group.runs.length), " ", small);
  return h("tr", { "data-group": group.label }, h("th", { scope: "row" }, line, group.label), seeds, ...cells);
}

function csv(report: Report, shown: Column[]): CsvTable {
  const rows = report.groups.flatMap((group) =>
    group.runs.map((run) => [
      group.label,
      run.seed,
      run.complete ? "yes" : "no",
      ...shown.map((column) => column.of(run)),
    ]),
  );
  return { columns: ["group", "seed", "complete", ...shown.map((column) => column.name)], rows };
}

export function resultsTable(report: Report): HTMLElement {
  const shown = columns(report);
  const several = report.groups.some((group) => group.runs.length > 1);
  const button = h("button", { type: "button", class: "csv", title: "download the runs of this table" }, "CSV");
  button.addEventListener("click", () => download("results.csv", csvText(csv(report, shown))));
  const heading = (text: string) => h("th", { scope: "col" }, text);
  const table = h(
    "table",
    {},
    h("thead", {}, h("tr", {}, heading("Group"), heading("Seeds"), ...shown.map((column) => heading(column.heading)))),
    h("tbody", {}, ...report.groups.map((group, i) => row(group, i, shown))),
  );
  const note =
    (several ? "Means over seeds ± sample deviation. " : "") +
    "Accuracy is the community model's on the test set; times are virtual and end with the first test that " +
    "reaches the accuracy, a dash where none does. The CSV file has a line a run.";
  return h(
    "section",
    { id: "results", class: "figure" },
    h("div", { class: "figure-head" }, h("h3", {}, h("span", { class: "number" }, "Table 1"), " Results of each group"), button),
    h("p", { class: "note" }, note),
    h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Results of each group" }, table),
  );
}
