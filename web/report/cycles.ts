// Validation cycles of the first learner of each group of devices: its validation loss epoch by epoch, and the
// reason for which each cycle ended.

import { FONT, PLOT, countLabel, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { CsvTable, FigureSpec, View } from "../shared/figure";
import { duration, plural, significant } from "../shared/format";
import type { LegendEntry } from "../shared/legend";
import { reasonMark, reasonName, sortedReasons } from "../shared/reasons";
import { type ChosenRun, chosen, preferred, runChoices, runsWith } from "./choices";
import { type Cycle, deviceGroups, isNumber, type LearnerCycles, type Report } from "./data";

const PANEL = 240;
const LOSS = "validation loss";

interface Point {
  epoch: number; // of the learner, counted over its cycles; the received model stands at the end of the last
  loss: number;
  cycle: number;
  ends: Cycle | null;
}

// Lines break between cycles: the next one begins with another model, the community's.
function points(learner: LearnerCycles): Point[] {
  const result: Point[] = [];
  let epoch = 0;
  learner.cycles.forEach((cycle, number) => {
    cycle.losses.forEach((loss, i) => {
      const last = i + 1 === cycle.losses.length;
      if (isNumber(loss)) result.push({ epoch: epoch + i, loss, cycle: number + 1, ends: last ? cycle : null });
    });
    epoch += Math.max(0, cycle.losses.length - 1);
  });
  return result;
}

function broken(all: Point[]): (number | null)[][] {
  return all.flatMap((point, i) => {
    const at = [point.epoch, point.loss];
    return i > 0 && all[i - 1].cycle !== point.cycle ? [[point.epoch, null], at] : [at];
  });
}

function nameIn(run: ChosenRun["run"], learner: LearnerCycles): string {
  const known = run.learners.find((candidate) => candidate.learner === learner.learner);
  return `${known?.name ?? `learner ${learner.learner}`}, ${learner.group}`;
}

const top = (panel: number) => PLOT.top + panel * PANEL;

function option({ run }: ChosenRun, devices: string[], view: View): ChartOption {
  const panels = run.cycles.filter((learner) => learner.cycles.length > 0);
  const all = panels.map(points);
  return {
    grid: panels.map((_, i) => ({ ...PLOT, top: top(i), height: PANEL - 86, bottom: undefined })),
    xAxis: panels.map((learner, i) =>
      xAxis(view.theme, `local epochs of ${nameIn(run, learner)} (number)`, {
        gridIndex: i,
        axisLabel: { ...countLabel(view.theme), showMaxLabel: false },
        max: "dataMax",
      }),
    ),
    yAxis: panels.map((learner, i) =>
      yAxis(view.theme, `validation loss of ${nameIn(run, learner)} (nat)`, {
        gridIndex: i,
        min: 0,
        axisLabel: { color: view.theme.muted, fontSize: 12, fontFamily: FONT },
      }),
    ),
    tooltip: tooltip(view.theme, {
      formatter: (items: { axisValue: number; axisIndex: number }[]) =>
        tip(all[items[0].axisIndex], items[0].axisValue, nameIn(run, panels[items[0].axisIndex]), view),
    }),
    series: panels.flatMap((learner, i) => [
      ...lossSeries(learner, all[i], i, devices, view),
      ...reasonSeries(all[i], i, view),
    ]),
  };
}

function lossSeries(learner: LearnerCycles, all: Point[], panel: number, devices: string[], view: View) {
  if (!view.shows(LOSS)) return [];
  const colour = view.theme.devices[devices.indexOf(learner.group) % view.theme.devices.length];
  return [
    {
      type: "line",
      name: LOSS,
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: broken(all),
      showSymbol: false,
      lineStyle: { width: 1.75, color: colour },
      emphasis: { disabled: true },
    },
  ];
}

function reasonSeries(all: Point[], panel: number, view: View) {
  const reasons = [...new Set(all.flatMap((point) => (point.ends ? [point.ends.reason] : [])))];
  return reasons
    .filter((reason) => view.shows(reasonName(reason)))
    .map((reason) => ({
      type: "scatter",
      name: reasonName(reason),
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: all.filter((point) => point.ends?.reason === reason).map((point) => [point.epoch, point.loss]),
      symbol: reasonMark(reason, view.theme).symbol === "square" ? "rect" : reasonMark(reason, view.theme).symbol,
      symbolSize: view.width < 560 ? 7 : 9,
      itemStyle: { color: reasonMark(reason, view.theme).colour, borderColor: view.theme.surface, borderWidth: 1 },
      emphasis: { disabled: true },
      z: 4,
    }));
}

function tip(all: Point[], epoch: number, name: string, view: View): string {
  const at = all.filter((point) => point.epoch === Math.round(epoch));
  const rows = at.map((point) => {
    const end = point.ends;
    const begins = end === null && at.length > 1;
    const label = begins ? `cycle ${point.cycle} begins` : `cycle ${point.cycle}`;
    const ended = end
      ? `; ended at ${duration(end.end_s)}, ${reasonName(end.reason)}, ${plural(end.failures, "failure")}, ` +
        `staleness ${significant(end.staleness)}`
      : "";
    const colour = end ? reasonMark(end.reason, view.theme).colour : view.theme.muted;
    return { colour, label, value: `loss ${significant(point.loss)}${ended}` };
  });
  return tooltipHtml(`${name}, epoch ${Math.round(epoch)}`, rows);
}

function csv({ run }: ChosenRun): CsvTable {
  const rows = run.cycles.flatMap((learner) =>
    points(learner).map(({ epoch, loss, cycle, ends }) => [
      learner.learner,
      learner.group,
      cycle,
      epoch,
      loss,
      ends?.reason ?? null,
      ends?.end_s ?? null,
      ends?.failures ?? null,
      ends?.staleness ?? null,
    ]),
  );
  const end = ["end_reason", "end_s", "end_failures", "end_staleness"];
  return { columns: ["learner", "device_group", "cycle", "epoch", "validation_loss", ...end], rows };
}

function entries({ run }: ChosenRun, view: View): LegendEntry[] {
  const reasons = new Set(run.cycles.flatMap((learner) => learner.cycles.map((cycle) => cycle.reason)));
  return [
    { name: LOSS, colour: view.theme.muted, mark: "line" },
    ...sortedReasons(reasons).map((reason): LegendEntry => {
      const { symbol, colour } = reasonMark(reason, view.theme);
      return { name: reasonName(reason), colour, mark: symbol };
    }),
  ];
}

export function cyclesFigure(report: Report): FigureSpec | null {
  const runs = runsWith(report, (run) => run.cycles.some((learner) => learner.cycles.length > 0));
  if (runs.length === 0) return null;
  const devices = deviceGroups(report);
  return {
    id: "cycles",
    title: "How a fast and a slow learner go through validation cycles",
    note:
      "The first learner of each group of devices, up to 40 cycles. A cycle begins with the loss of the community " +
      "model that it received, falls while it trains, and ends at a mark that says why it asked for an update.",
    choices: runChoices(runs, preferred(runs, ["async-dvw-adaptive"])),
    height: (view) => top(chosen(runs, view.choice).run.cycles.filter((l) => l.cycles.length > 0).length) - 26,
    legend: (view) => entries(chosen(runs, view.choice), view),
    option: (view) => option(chosen(runs, view.choice), devices, view),
    csv: (choice) => csv(chosen(runs, choice)),
  };
}
