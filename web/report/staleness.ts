// Effective staleness of the first cycles, as a histogram for each group of devices, with median and mean.

import { PLOT, countLabel, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { CsvTable, FigureSpec, View } from "../shared/figure";
import { count, plural, significant } from "../shared/format";
import type { LegendEntry } from "../shared/legend";
import { binEdges, type Bin, histogram, lastAt } from "../shared/statistics";
import { type ChosenRun, chosen, preferred, runChoices, runsWith } from "./choices";
import { deviceGroups, isNumber, type Report, type Staleness } from "./data";

const PANEL = 200;
const BINS = 30;
const MEDIAN = "median";
const MEAN = "mean";

const drawnOf = ({ run }: ChosenRun) => run.staleness.filter((group) => group.values.length > 0);

// The same bins for all groups of devices: panels are compared by eye.
function edgesOf(groups: Staleness[]): number[] {
  return binEdges(Math.max(...groups.flatMap((group) => group.values)), BINS);
}

const LABELS = 12; // room for a second line of the panel's name

const top = (panel: number) => PLOT.top + LABELS + panel * PANEL;

function option(choice: ChosenRun, devices: string[], view: View): ChartOption {
  const groups = drawnOf(choice);
  const edges = edgesOf(groups);
  const shown = groups.filter((group) => view.shows(group.group));
  const panels = shown.length > 0 ? shown : [];
  const bins = panels.map((group) => histogram(group.values, edges));
  const last = panels.length - 1;
  return {
    grid: panels.map((_, i) => ({ ...PLOT, top: top(i), height: PANEL - 62 - LABELS, bottom: undefined })),
    xAxis: panels.map((_, i) =>
      xAxis(view.theme, i === last ? "effective staleness (mini-batch steps)" : "", {
        gridIndex: i,
        min: 0,
        max: edges[edges.length - 1],
        axisLabel: countLabel(view.theme),
      }),
    ),
    yAxis: panels.map((group, i) =>
      yAxis(view.theme, panelName(group, view), {
        gridIndex: i,
        minInterval: 1,
        splitNumber: 3,
        axisLabel: countLabel(view.theme),
      }),
    ),
    tooltip: tooltip(view.theme, {
      formatter: (items: { axisValue: number; axisIndex: number }[]) =>
        tip(panels[items[0].axisIndex], bins[items[0].axisIndex], edges, items[0].axisValue, devices, view),
    }),
    series: panels.map((group, i) => barSeries(group, bins[i], i, devices, view)),
  };
}

type Api = { coord: (point: number[]) => number[]; value: (i: number) => number };

function colourOf(group: string, devices: string[], view: View): string {
  return view.theme.devices[devices.indexOf(group) % view.theme.devices.length];
}

function barSeries(group: Staleness, bins: Bin[], panel: number, devices: string[], view: View) {
  const fill = colourOf(group.group, devices, view);
  return {
    type: "custom",
    name: group.group,
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: bins.filter((bin) => bin.count > 0).map((bin) => [(bin.from + bin.to) / 2, bin.count, bin.from, bin.to]),
    encode: { x: 0, y: 1 },
    renderItem: (_: unknown, api: Api) => {
      const [left, height] = api.coord([api.value(2), api.value(1)]);
      const [right, floor] = api.coord([api.value(3), 0]);
      const shape = { x: left + 0.5, y: height, width: Math.max(1, right - left - 1), height: floor - height };
      return { type: "rect", shape, style: { fill, opacity: 0.75 } };
    },
    markLine: { silent: true, symbol: "none", data: centres(group, view) },
  };
}

function centres(group: Staleness, view: View) {
  const both = [
    { name: MEDIAN, value: group.median, type: "solid" },
    { name: MEAN, value: group.mean, type: "dashed" },
  ];
  return both
    .filter((line) => isNumber(line.value) && view.shows(line.name))
    .map(({ value, type }) => ({
      xAxis: value,
      lineStyle: { color: view.theme.ink, width: 1.5, type },
      label: { show: false },
    }));
}

// The values of the two lines stand in the axis' name: beside the lines they would cover each other.
function panelName(group: Staleness, view: View): string {
  const centre = isNumber(group.median) && isNumber(group.mean);
  const values = centre ? `median ${significant(group.median!)}, mean ${significant(group.mean!)}` : "";
  const spread = isNumber(group.deviation) && group.values.length > 1 ? ` ± ${significant(group.deviation)}` : "";
  const name = `cycles of ${group.group} learners (number)`;
  return values === "" ? name : `${name}${view.width < 560 ? "\n" : "; "}${values}${spread}`;
}

function tip(group: Staleness, bins: Bin[], edges: number[], x: number, devices: string[], view: View): string {
  const bin = bins[Math.max(0, Math.min(bins.length - 1, lastAt(edges, x)))];
  const spread = isNumber(group.deviation) ? ` ± ${significant(group.deviation)}` : "";
  return tooltipHtml(`staleness ${count(bin.from)} to ${count(bin.to)}`, [
    { colour: colourOf(group.group, devices, view), label: group.group, value: plural(bin.count, "cycle") },
    { colour: view.theme.ink, label: MEDIAN, value: isNumber(group.median) ? significant(group.median) : "none" },
    { colour: view.theme.muted, label: MEAN, value: isNumber(group.mean) ? significant(group.mean) + spread : "none" },
  ]);
}

function csv(choice: ChosenRun): CsvTable {
  const groups = drawnOf(choice);
  const edges = edgesOf(groups);
  const rows = groups.flatMap((group) =>
    histogram(group.values, edges).map((bin) => [
      group.group,
      bin.from,
      bin.to,
      bin.count,
      group.median,
      group.mean,
      group.deviation,
    ]),
  );
  return { columns: ["device_group", "from_steps", "to_steps", "cycles", "median", "mean", "deviation"], rows };
}

function entries(choice: ChosenRun, devices: string[], view: View): LegendEntry[] {
  return [
    ...drawnOf(choice).map(({ group }): LegendEntry => {
      return { name: group, colour: colourOf(group, devices, view), mark: "box" };
    }),
    { name: MEDIAN, colour: view.theme.ink, mark: "line" },
    { name: MEAN, colour: view.theme.ink, mark: "line", dash: "dashed" },
  ];
}

export function stalenessFigure(report: Report): FigureSpec | null {
  const runs = runsWith(report, (run) => run.staleness.some((group) => group.values.length > 0));
  if (runs.length === 0) return null;
  const devices = deviceGroups(report);
  return {
    id: "staleness",
    title: "How stale updates are",
    note:
      "Effective staleness of the first 20 committed cycles of each learner: mini-batch steps that went into the " +
      "community model since the learner received it, its own included.",
    choices: runChoices(runs, preferred(runs, ["async-dvw-adaptive", "async-dvw"])),
    height: (view) => {
      const shown = drawnOf(chosen(runs, view.choice)).filter((group) => view.shows(group.group)).length;
      return top(Math.max(1, shown)) - LABELS - 10;
    },
    legend: (view) => entries(chosen(runs, view.choice), devices, view),
    option: (view) => option(chosen(runs, view.choice), devices, view),
    csv: (choice) => csv(chosen(runs, choice)),
  };
}
