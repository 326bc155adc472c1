// Community test accuracy over virtual time and over update requests: a line a group, seeds as a band.

import { PLOT, percentLabel, countLabel, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { CsvTable, FigureSpec, View } from "../shared/figure";
import { count, duration, percent, timeUnit } from "../shared/format";
import { type Band, band, valueAt } from "../shared/statistics";
import { seriesStroke } from "../shared/theme";
import { curveRuns, isCentralised, type Report, thinningNote } from "./data";
import type { Distribution } from "./distributions";
import { drawInset } from "./inset";

interface Line {
  label: string;
  index: number; // of the group: its colour
  seeds: number;
  band: Band;
}

function lines(report: Report, axis: string): Line[] {
  return report.groups.map((group, index) => {
    const without = axis === "requests" && isCentralised(group);
    const runs = without ? [] : curveRuns(group).filter((run) => run.tests.t_s.length > 0);
    const curves = runs.map((run) => ({
      x: axis === "time" ? run.tests.t_s : run.tests.requests,
      y: run.tests.accuracy,
    }));
    return { label: group.label, index, seeds: curves.length, band: band(curves) };
  });
}

export interface Extent {
  highestX: number;
  low: number; // of the vertical axis, in round tenths
  high: number;
}

function extent(drawn: Line[]): Extent {
  const highestX = Math.max(1e-9, ...drawn.map((line) => line.band.x[line.band.x.length - 1] ?? 0));
  const low = Math.min(1, ...drawn.flatMap((line) => line.band.low));
  const high = Math.max(0, ...drawn.flatMap((line) => line.band.high));
  const step = high - low < 0.2 ? 50 : 10;
  return { highestX, low: Math.floor(low * step) / step, high: Math.min(1, Math.ceil(high * step) / step) };
}

function option(all: Line[], view: View): ChartOption {
  const time = view.choice === "time";
  const shown = all.filter((line) => view.shows(line.label));
  const whole = extent(all);
  const unit = timeUnit(whole.highestX);
  const scale = time ? unit.seconds : 1;
  const name = time ? `virtual time (${unit.name})` : "update requests committed (number)";
  return {
    grid: PLOT,
    xAxis: xAxis(view.theme, name, { min: 0, max: whole.highestX / scale, axisLabel: axisLabel(view) }),
    yAxis: yAxis(view.theme, "accuracy on the test set (%)", {
      min: whole.low,
      max: whole.high,
      axisLabel: percentLabel(view.theme),
    }),
    tooltip: tooltip(view.theme, {
      formatter: (points: { axisValue: number }[]) => tip(shown, points[0].axisValue * scale, view, time),
    }),
    series: [...shown.filter((line) => line.seeds > 1).map((line) => bandSeries(line, scale, view)),
      ...shown.map((line) => lineSeries(line, scale, view))],
  };
}

// The axis ends where the data do; a label there would stand beside the last round one.
function axisLabel(view: View) {
  return { ...countLabel(view.theme), showMaxLabel: false };
}

function lineSeries(line: Line, scale: number, view: View) {
  const stroke = seriesStroke(view.theme, line.index);
  return {
    type: "line",
    name: line.label,
    data: line.band.x.map((x, i) => [x / scale, line.band.mean[i]]),
    showSymbol: line.band.x.length === 1,
    sampling: "lttb",
    z: 3,
    lineStyle: { width: 2, color: stroke.colour, type: stroke.dash },
    itemStyle: { color: stroke.colour },
    emphasis: { disabled: true },
  };
}

type Api = { coord: (point: number[]) => number[] };

// One polygon along the highest values and back along the lowest.
function bandSeries(line: Line, scale: number, view: View) {
  const { x, low, high } = line.band;
  const there = x.map((value, i) => [value / scale, high[i]]);
  const back = x.map((value, i) => [value / scale, low[i]]).reverse();
  return {
    type: "custom",
    name: line.label,
    silent: true,
    clip: true,
    z: 1,
    data: x.length > 1 ? [[there[0][0], there[0][1]]] : [],
    tooltip: { show: false },
    renderItem: (_: unknown, api: Api) => ({
      type: "polygon",
      shape: { points: [...there, ...back].map((point) => api.coord(point)) },
      style: { fill: seriesStroke(view.theme, line.index).colour, opacity: 0.16 },
    }),
  };
}

function tip(shown: Line[], x: number, view: View, time: boolean): string {
  const rows = shown
    .map((line) => ({ line, at: valueAt({ x: line.band.x, y: line.band.mean }, x) }))
    .filter((row): row is { line: Line; at: number } => row.at !== null)
    .sort((a, b) => b.at - a.at)
    .map(({ line, at }) => {
      const low = valueAt({ x: line.band.x, y: line.band.low }, x);
      const high = valueAt({ x: line.band.x, y: line.band.high }, x);
      const range = line.seeds > 1 ? ` (${(100 * low!).toFixed(1)} to ${(100 * high!).toFixed(1)})` : "";
      return { colour: seriesStroke(view.theme, line.index).colour, label: line.label, value: percent(at) + range };
    });
  return tooltipHtml(time ? duration(x) : `${count(x)} requests`, rows);
}

function csv(all: Line[], axis: string): CsvTable {
  const rows = all.flatMap(({ label, seeds, band: values }) =>
    values.x.map((x, i) => [label, seeds, x, values.mean[i], values.low[i], values.high[i]]),
  );
  const x = axis === "time" ? "t_s" : "requests";
  return { columns: ["group", "seeds", x, "accuracy_mean", "accuracy_lowest", "accuracy_highest"], rows };
}

export function convergence(report: Report, distribution: Distribution | null): FigureSpec | null {
  const axes: Record<string, Line[]> = { time: lines(report, "time"), requests: lines(report, "requests") };
  if (axes.time.every((line) => line.band.x.length === 0)) return null;
  const seeds = Math.max(...axes.time.map((line) => line.seeds));
  const how =
    seeds > 1
      ? "A line is the mean of a group's seeds at the tests of the first one (the others interpolated between " +
        "theirs), as far as all of them were tested; the band around it reaches from the lowest to the highest seed."
      : "One run a group: a line connects its tests.";
  const where = distribution === null ? "" : " The small chart shows the learners' examples by class.";
  return {
    id: "convergence",
    title: "How the accuracy of the community model grows",
    note: how + where + thinningNote(report, (run) => run.tests, "tests"),
    choices: {
      label: "Over",
      options: [
        { value: "time", label: "Over virtual time" },
        { value: "requests", label: "Over update requests" },
      ],
    },
    height: (view) => (view.width < 560 ? 320 : 440),
    legend: ({ theme }) =>
      axes.time.map((line) => {
        const { colour, dash } = seriesStroke(theme, line.index);
        return { name: line.label, colour, dash, mark: "line" };
      }),
    option: (view) => option(axes[view.choice], view),
    csv: (choice) => csv(axes[choice], choice),
    inset: (view, chart) => {
      const all = axes[view.choice];
      const whole = extent(all);
      const points = all.flatMap(({ band: { x, low, mean, high } }) =>
        x.flatMap((value, i) => [low[i], mean[i], high[i]].map((y) => [value / whole.highestX, (y - whole.low) / (whole.high - whole.low)])),
      );
      if (distribution !== null) drawInset(distribution, view, chart, points);
    },
  };
}
