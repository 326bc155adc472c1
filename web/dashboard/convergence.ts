// Accuracy of the community model over the federation's time and over update requests, as it was tested.

import { countLabel, FONT, percentLabel, PLOT, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { FigureSpec, View } from "../shared/figure";
import { count, duration, percent, significant, timeUnit } from "../shared/format";
import type { Seen, Test } from "./data";

const xOf = (test: Test, choice: string) => (choice === "time" ? test.time_s : test.requests);

// Round values around the accuracies, closer where these are close together.
function bounds(tests: Test[]): { min: number; max: number } {
  const values = tests.map((test) => test.accuracy);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = high - low < 0.1 ? 50 : high - low < 0.5 ? 10 : 5;
  const min = Math.floor(low * step) / step;
  return { min, max: Math.max(Math.min(1, Math.ceil(high * step) / step), min + 1 / step) };
}

function option({ status }: Seen, view: View): ChartOption {
  const { tests, best } = status;
  const time = view.choice === "time";
  const last = tests[tests.length - 1];
  const unit = timeUnit(last.time_s);
  const scale = time ? unit.seconds : 1;
  const colour = view.theme.series[0];
  const at = (test: Test) => [xOf(test, view.choice) / scale, test.accuracy];
  return {
    grid: PLOT,
    xAxis: xAxis(view.theme, time ? `time of the federation (${unit.name})` : "update requests committed (number)", {
      min: 0,
      max: Math.max(xOf(last, view.choice) / scale, 1e-9),
      axisLabel: { ...countLabel(view.theme), showMaxLabel: false },
    }),
    yAxis: yAxis(view.theme, "accuracy on the test set (%)", { ...bounds(tests), axisLabel: percentLabel(view.theme) }),
    tooltip: tooltip(view.theme, {
      formatter: (points: { dataIndex: number; seriesIndex: number }[]) => {
        const index = points.find((point) => point.seriesIndex === 0)?.dataIndex;
        return index === undefined ? "" : tip(tests[Math.min(index, tests.length - 1)], view);
      },
    }),
    series: [
      {
        type: "line",
        data: tests.map(at),
        showSymbol: tests.length < 2,
        z: 3,
        lineStyle: { width: 2, color: colour },
        itemStyle: { color: colour },
        areaStyle: { color: colour, opacity: 0.07 },
        emphasis: { disabled: true },
      },
      {
        type: "scatter",
        data: best === null ? [] : [at(best)],
        symbolSize: 9,
        silent: true,
        tooltip: { show: false },
        itemStyle: { color: view.theme.surface, borderColor: colour, borderWidth: 2 },
        label: bestLabel(best, last, view),
        z: 4,
      },
    ],
  };
}

// Below the line, on the side where there is room.
function bestLabel(best: Test | null, last: Test, view: View) {
  const place = best === null ? 0 : xOf(best, view.choice) / Math.max(xOf(last, view.choice), 1e-9);
  return {
    show: best !== null,
    formatter: `best ${percent(best?.accuracy ?? 0)}`,
    position: "bottom",
    distance: 8,
    align: place > 0.9 ? "right" : place < 0.1 ? "left" : "center",
    color: view.theme.muted,
    fontFamily: FONT,
    fontSize: 12,
  };
}

function tip(test: Test, view: View): string {
  const loss = typeof test.loss === "number" ? significant(test.loss) : test.loss;
  return tooltipHtml(`${duration(test.time_s)}, ${count(test.requests)} requests`, [
    { colour: view.theme.series[0], label: "accuracy", value: percent(test.accuracy) },
    { colour: view.theme.muted, label: "loss", value: loss },
    { colour: view.theme.muted, label: "version", value: count(test.version) },
  ]);
}

export function convergence(seen: Seen): FigureSpec {
  return {
    id: "convergence",
    title: "How the community model learns",
    note: "Its accuracy on the observer's test set, test by test.",
    choices: {
      label: "Over",
      options: [
        { value: "time", label: "Over time" },
        { value: "requests", label: "Over update requests" },
      ],
    },
    height: (view) => (view.width < 560 ? 280 : 380),
    legend: () => [],
    option: (view) => option(seen, view),
    csv: () => ({
      columns: ["time_s", "requests", "version", "accuracy", "loss"],
      rows: seen.status.tests.map((t) => [t.time_s, t.requests, t.version, t.accuracy, t.loss]),
    }),
    empty: () =>
      seen.status.tests.length > 0
        ? null
        : "No version has been tested yet. An observer tests them (metis observer), on data that no learner trains with.",
  };
}
