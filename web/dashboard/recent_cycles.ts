// The last validation cycles: how stale their updates were, a mark each, and why they ended, a column for each while.

import { countLabel, PLOT, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { FigureSpec, View } from "../shared/figure";
import { count, duration, plural, timeUnit, trim } from "../shared/format";
import { reasonMark, reasonName, sortedReasons } from "../shared/reasons";
import { mean } from "../shared/statistics";
import { type Cycle, median, nameOf, type Seen } from "./data";

const NOTHING = "No update has been committed yet.";
const MEDIAN = "running median";
const WINDOW = 41; // cycles of the running median
const MOST_GROUPS = 5; // that can be told apart by colour
const EVERYBODY = "updates";

interface Span {
  from: number;
  to: number; // above from
  scale: number; // seconds of its unit
  unit: string;
}

function spanOf(cycles: Cycle[]): Span {
  const to = cycles[cycles.length - 1].time_s;
  const unit = timeUnit(to);
  return { from: Math.min(cycles[0].time_s, Math.max(0, to - 1)), to, scale: unit.seconds, unit: unit.name };
}

function timeAxis(span: Span, view: View) {
  return xAxis(view.theme, `time of the federation (${span.unit})`, {
    min: span.from / span.scale,
    max: span.to / span.scale,
    axisLabel: { ...countLabel(view.theme), showMaxLabel: false, showMinLabel: false },
  });
}

// --- staleness

// Groups of devices, where there are a few of them.
function groupsOf(seen: Seen): string[] {
  const groups = [...new Set(seen.status.participants.map((one) => one.group))].filter((group) => group !== "").sort();
  return groups.length >= 2 && groups.length <= MOST_GROUPS ? groups : [EVERYBODY];
}

function groupOf(seen: Seen, learner: number, groups: string[]): string {
  const group = seen.status.participants.find((one) => one.id === learner)?.group ?? "";
  return groups.includes(group) ? group : groups[0];
}

const groupColour = (groups: string[], group: string, view: View) => view.theme.devices[groups.indexOf(group)];

function stalenessOption(seen: Seen, view: View): ChartOption {
  const { cycles } = seen.status;
  const span = spanOf(cycles);
  const groups = groupsOf(seen);
  const many = cycles.length > 150;
  const marks = groups.filter(view.shows).map((group) => ({
    type: "scatter",
    name: group,
    data: cycles.flatMap((cycle, i) =>
      groupOf(seen, cycle.learner, groups) === group ? [[cycle.time_s / span.scale, cycle.staleness, i]] : [],
    ),
    symbolSize: many ? 5 : 8,
    itemStyle: { color: groupColour(groups, group, view), opacity: many ? 0.5 : 0.75 },
    emphasis: { disabled: true },
    z: 3,
  }));
  return {
    grid: PLOT,
    xAxis: timeAxis(span, view),
    yAxis: yAxis(view.theme, "staleness (steps)", { min: 0, minInterval: 1, axisLabel: countLabel(view.theme) }),
    tooltip: tooltip(view.theme, {
      trigger: "item",
      formatter: (point: { data: number[]; color: string }) => stalenessTip(seen, point.data[2], point.color, view),
    }),
    series: [...marks, ...medianLine(cycles, span, view)],
  };
}

function stalenessTip(seen: Seen, index: number, colour: string, view: View): string {
  const cycle = seen.status.cycles[index];
  if (cycle === undefined) return "";
  return tooltipHtml(`${nameOf(seen.status, cycle.learner)}, ${duration(cycle.time_s)}`, [
    { colour, label: "staleness", value: plural(cycle.staleness, "step") },
    { colour: view.theme.muted, label: reasonName(cycle.reason), value: plural(cycle.epochs, "epoch") },
  ]);
}

// Through the last WINDOW updates at every one of them.
function medianLine(cycles: Cycle[], span: Span, view: View): object[] {
  if (!view.shows(MEDIAN) || cycles.length < 3) return [];
  const data = cycles.map((cycle, i) => {
    const values = cycles.slice(Math.max(0, i + 1 - WINDOW), i + 1).map((one) => one.staleness);
    return [cycle.time_s / span.scale, median(values)];
  });
  const lineStyle = { width: 2, color: view.theme.ink };
  return [{ type: "line", name: MEDIAN, data, showSymbol: false, silent: true, lineStyle, z: 4 }];
}

export function staleness(seen: Seen): FigureSpec {
  return {
    id: "staleness",
    title: "How stale updates are",
    note: "Of the last updates: steps that went into the community since the learner got its model, its own included.",
    height,
    legend: (view) => [
      ...groupsOf(seen).map((name) => ({ name, colour: groupColour(groupsOf(seen), name, view), mark: "circle" as const })),
      { name: MEDIAN, colour: view.theme.ink, mark: "line" },
    ],
    option: (view) => stalenessOption(seen, view),
    csv: () => csvRows(seen),
    empty: () => (seen.status.cycles.length > 0 ? null : NOTHING),
  };
}

// --- why they ended

interface Column {
  from: number;
  to: number;
  cycles: Cycle[];
}

function columnsOf(cycles: Cycle[], span: Span, most: number): Column[] {
  const n = Math.max(1, Math.min(most, Math.ceil(cycles.length / 3)));
  const width = (span.to - span.from) / n;
  const all = Array.from({ length: n }, (_, i): Column => ({ from: span.from + i * width, to: span.from + (i + 1) * width, cycles: [] }));
  for (const cycle of cycles) all[Math.min(n - 1, Math.floor((cycle.time_s - span.from) / width))].cycles.push(cycle);
  return all;
}

type Api = { value: (dimension: number) => number; coord: (point: number[]) => number[] };

// One series a reason; its boxes stand on those of the reasons before it.
function boxes(reason: string, below: string[], columns: Column[], scale: number, view: View) {
  const of = (column: Column, names: string[]) => column.cycles.filter((cycle) => names.includes(cycle.reason)).length;
  const fill = reasonMark(reason, view.theme).colour;
  return {
    type: "custom",
    name: reasonName(reason),
    data: columns.map((column) => {
      const floor = of(column, below);
      return [(column.from + column.to) / 2 / scale, floor + of(column, [reason]), floor, column.from / scale, column.to / scale];
    }),
    encode: { x: 0, y: 1 },
    renderItem: (_: unknown, api: Api) => {
      const [left, top] = api.coord([api.value(3), api.value(1)]);
      const [right, bottom] = api.coord([api.value(4), api.value(2)]);
      const shape = { x: left + 0.5, y: top, width: Math.max(1, right - left - 1), height: bottom - top };
      return { type: "rect", shape, style: { fill, opacity: 0.85 } };
    },
  };
}

function cyclesOption(seen: Seen, view: View): ChartOption {
  const { cycles } = seen.status;
  const span = spanOf(cycles);
  const columns = columnsOf(cycles, span, view.width < 560 ? 16 : 32);
  const shown = reasonsIn(cycles).filter((reason) => view.shows(reasonName(reason)));
  return {
    grid: PLOT,
    xAxis: timeAxis(span, view),
    yAxis: yAxis(view.theme, "cycles that ended (number)", { min: 0, minInterval: 1, axisLabel: countLabel(view.theme) }),
    tooltip: tooltip(view.theme, {
      formatter: ([point]: { dataIndex: number }[]) => columnTip(columns[point.dataIndex], shown, view),
    }),
    series: shown.map((reason, i) => boxes(reason, shown.slice(0, i), columns, span.scale, view)),
  };
}

function columnTip(column: Column | undefined, shown: string[], view: View): string {
  if (column === undefined) return "";
  const rows = shown.map((reason) => {
    const cycles = column.cycles.filter((cycle) => cycle.reason === reason);
    const epochs = cycles.length > 0 ? `, ${trim(mean(cycles.map((cycle) => cycle.epochs)), 1)} epochs each` : "";
    return { colour: reasonMark(reason, view.theme).colour, label: reasonName(reason), value: count(cycles.length) + epochs };
  });
  return tooltipHtml(`${duration(column.from)} to ${duration(column.to)}`, rows);
}

const reasonsIn = (cycles: Cycle[]) => sortedReasons(cycles.map((cycle) => cycle.reason));

function totalsOf(seen: Seen): Map<string, number> {
  const totals = new Map<string, number>();
  for (const one of seen.status.participants)
    for (const [reason, n] of Object.entries(one.cycles)) totals.set(reason, (totals.get(reason) ?? 0) + n);
  return totals;
}

export function validationCycles(seen: Seen): FigureSpec {
  return {
    id: "cycles",
    title: "Why validation cycles end",
    note: "Of the last cycles, by when they ended; in brackets, how many have ended so since the beginning.",
    height,
    legend: (view) =>
      reasonsIn(seen.status.cycles).map((reason) => ({
        name: reasonName(reason),
        label: `${reasonName(reason)} (${count(totalsOf(seen).get(reason) ?? 0)})`,
        colour: reasonMark(reason, view.theme).colour,
        mark: "box",
      })),
    option: (view) => cyclesOption(seen, view),
    csv: () => csvRows(seen),
    empty: () => (seen.status.cycles.length > 0 ? null : NOTHING),
  };
}

// --- both

const height = (view: View) => (view.width < 560 ? 260 : 290);

const csvRows = (seen: Seen) => ({
  columns: ["time_s", "learner", "name", "epochs", "reason", "staleness"],
  rows: seen.status.cycles.map((c) => [c.time_s, c.learner, nameOf(seen.status, c.learner), c.epochs, c.reason, c.staleness]),
});
