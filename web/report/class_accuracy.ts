// The accuracy of each class over time, of one run, as a map of cells: class by test.

import { PLOT, countLabel, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { CsvTable, FigureSpec, View } from "../shared/figure";
import { duration, percent, timeUnit } from "../shared/format";
import { scaleStep } from "../shared/theme";
import { type ChosenRun, chosen, runChoices, runsWith } from "./choices";
import { isNumber, type Report, type Tests } from "./data";

const STEPS = 10; // of the colour scale, a tenth each
const MOST_CELLS = 6000; // more would not be seen, and would make the page slow

interface CellAt {
  test: number;
  end_s: number; // the cell reaches to the next one
  klass: number;
  accuracy: number;
}

const stepOf = (accuracy: number) => Math.min(STEPS - 1, Math.floor(accuracy * STEPS));
const stepName = (step: number) => `${10 * step} to ${10 * (step + 1)} %`;

function classCount(tests: Tests): number {
  return Math.max(0, ...tests.class_accuracy.map((row) => row.length));
}

// Every test of the run, or every n-th where they are too many. The last cell is as wide as they are on average.
function cells(tests: Tests): CellAt[] {
  const n = tests.t_s.length;
  const last = tests.t_s[n - 1];
  const end = last + (last - tests.t_s[0]) / (n - 1);
  const stride = Math.max(1, Math.ceil((n * classCount(tests)) / MOST_CELLS));
  const result: CellAt[] = [];
  for (let test = 0; test < n; test += stride)
    tests.class_accuracy[test].forEach((accuracy, klass) => {
      if (isNumber(accuracy)) result.push({ test, end_s: tests.t_s[test + stride] ?? end, klass, accuracy });
    });
  return result;
}

type Api = { coord: (point: number[]) => number[]; size: (size: number[]) => number[]; value: (i: number) => number };

function option({ run }: ChosenRun, view: View): ChartOption {
  const { tests } = run;
  const classes = classCount(tests);
  const all = cells(tests);
  const end = Math.max(...all.map((cell) => cell.end_s));
  const unit = timeUnit(end);
  const shown = all.filter((cell) => view.shows(stepName(stepOf(cell.accuracy))));
  return {
    grid: PLOT,
    xAxis: xAxis(view.theme, `virtual time (${unit.name})`, {
      min: 0,
      max: end / unit.seconds,
      axisLabel: { ...countLabel(view.theme), showMaxLabel: false },
    }),
    yAxis: yAxis(view.theme, "class (number)", {
      type: "category",
      data: Array.from({ length: classes }, (_, c) => String(c)),
      inverse: true,
      nameLocation: "start",
      splitLine: { show: false },
    }),
    tooltip: tooltip(view.theme, {
      trigger: "item",
      formatter: (point: { dataIndex: number }) => tip(shown[point.dataIndex], tests),
    }),
    series: [
      {
        type: "custom",
        clip: true,
        data: shown.map(({ test, end_s, klass, accuracy }) => [
          tests.t_s[test] / unit.seconds,
          klass,
          end_s / unit.seconds,
          stepOf(accuracy),
        ]),
        encode: { x: [0, 2], y: 1 },
        renderItem: (_: unknown, api: Api) => cellShape(api, classes),
      },
    ],
  };
}

// A little wider than the cell, so that no light shines between neighbours.
function cellShape(api: Api, classes: number) {
  const [left, middle] = api.coord([api.value(0), api.value(1)]);
  const [right] = api.coord([api.value(2), api.value(1)]);
  const height = api.size([0, 1])[1];
  const gap = classes > 40 ? 0 : 1;
  return {
    type: "rect",
    shape: { x: left, y: middle - height / 2 + gap / 2, width: right - left + 0.5, height: height - gap },
    style: { fill: scaleStep(api.value(3), STEPS) },
  };
}

function tip(cell: CellAt, tests: Tests): string {
  const colour = scaleStep(stepOf(cell.accuracy), STEPS);
  return tooltipHtml(duration(tests.t_s[cell.test]), [
    { colour, label: `class ${cell.klass}`, value: percent(cell.accuracy) },
  ]);
}

function csv({ run: { tests } }: ChosenRun): CsvTable {
  const rows = cells(tests).map(({ test, klass, accuracy }) => [tests.t_s[test], tests.requests[test], klass, accuracy]);
  return { columns: ["t_s", "requests", "class", "accuracy"], rows };
}

export function classAccuracy(report: Report): FigureSpec | null {
  const runs = runsWith(report, (run) => run.tests.t_s.length > 1 && classCount(run.tests) > 0);
  if (runs.length === 0) return null;
  return {
    id: "classes",
    title: "Which classes the community model has learned, and when",
    note:
      "Each row is a class, each cell a test of the community model: the share of that class's test examples " +
      "that it recognises, in steps of ten per cent.",
    choices: runChoices(runs),
    height: (view) => {
      const classes = classCount(chosen(runs, view.choice).run.tests);
      return PLOT.top + PLOT.bottom + Math.max(classes * (classes > 20 ? 9 : 26), 120);
    },
    legend: () =>
      Array.from({ length: STEPS }, (_, step) => {
        return { name: stepName(step), colour: scaleStep(step, STEPS), mark: "box" };
      }),
    option: (view) => option(chosen(runs, view.choice), view),
    csv: (choice) => csv(chosen(runs, choice)),
  };
}
