// The contribution p_k of every learner over time, of one run: coloured by devices, faulty learners in bold.

import { PLOT, countLabel, tooltip, tooltipHtml, type TooltipRow, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { CsvTable, FigureSpec, View } from "../shared/figure";
import { duration, significant, timeUnit } from "../shared/format";
import type { LegendEntry } from "../shared/legend";
import { lastAt } from "../shared/statistics";
import { type ChosenRun, chosen, preferred, runChoices, runsWith } from "./choices";
import { deviceGroups, isNumber, type Learner, type Report, type Run, thinningNote } from "./data";

const FAULTY = "faulty learner";
const DVW = ["async-dvw", "async-dvw-adaptive", "sync-dvw"];

interface Line {
  learner: Learner;
  t_s: number[];
  contribution: number[];
}

function lines(run: Run): Line[] {
  const of = new Map<number, Line>();
  for (const learner of run.learners) of.set(learner.learner, { learner, t_s: [], contribution: [] });
  run.updates.learner.forEach((number, i) => {
    const line = of.get(number);
    const contribution = run.updates.contribution[i];
    if (line === undefined || !isNumber(contribution)) return;
    line.t_s.push(run.updates.t_s[i]);
    line.contribution.push(contribution);
  });
  return [...of.values()].filter((line) => line.t_s.length > 0);
}

const nameOf = (line: Line) => (line.learner.faulty === null ? line.learner.group : FAULTY);

function colourOf(line: Line, devices: string[], view: View): string {
  if (line.learner.faulty !== null) return view.theme.alarm;
  return view.theme.devices[devices.indexOf(line.learner.group) % view.theme.devices.length];
}

function option({ group, run }: ChosenRun, devices: string[], view: View): ChartOption {
  const shown = lines(run).filter((line) => view.shows(nameOf(line)));
  const unit = timeUnit(run.length_s);
  const what = group.policy === "fedasync" ? "mixing weight of an update" : "contribution p_k of the learner";
  return {
    grid: PLOT,
    xAxis: xAxis(view.theme, `virtual time (${unit.name})`, {
      min: 0,
      max: run.length_s / unit.seconds,
      axisLabel: { ...countLabel(view.theme), showMaxLabel: false },
    }),
    yAxis: yAxis(view.theme, `${what} (${isCount(run) ? "examples" : "no unit"})`, {
      scale: true,
      axisLabel: countLabel(view.theme),
    }),
    tooltip: tooltip(view.theme, {
      formatter: (points: { axisValue: number }[]) => tip(shown, points[0].axisValue * unit.seconds, devices, view),
    }),
    series: shown.map((line) => series(line, unit.seconds, run.length_s, devices, view)),
  };
}

// FedAvg weighs by examples; the other weightings stay within [0, 1].
const isCount = (run: Run) => run.updates.contribution.some((p) => isNumber(p) && p > 1);

// A contribution holds until the learner's next update, the last one until the end.
function series(line: Line, scale: number, end: number, devices: string[], view: View) {
  const faulty = line.learner.faulty !== null;
  const points = line.t_s.map((t, i) => [t / scale, line.contribution[i]]);
  points.push([end / scale, line.contribution[line.contribution.length - 1]]);
  return {
    type: "line",
    name: nameOf(line),
    data: points,
    step: "end",
    sampling: "lttb",
    showSymbol: false,
    z: faulty ? 4 : 3,
    lineStyle: {
      width: faulty ? 3 : 1.5,
      color: colourOf(line, devices, view),
      opacity: faulty ? 1 : 0.8,
      type: faulty ? "dashed" : "solid",
    },
    emphasis: { disabled: true },
  };
}

function tip(shown: Line[], t: number, devices: string[], view: View): string {
  const rows: (TooltipRow & { p: number; faulty: boolean })[] = [];
  for (const line of shown) {
    const i = lastAt(line.t_s, t);
    if (i < 0) continue;
    const p = line.contribution[i];
    const faulty = line.learner.faulty;
    const label = `${line.learner.name}, ${line.learner.group}${faulty === null ? "" : `, faulty: ${faulty}`}`;
    rows.push({ colour: colourOf(line, devices, view), label, value: significant(p), p, faulty: faulty !== null });
  }
  rows.sort((a, b) => Number(b.faulty) - Number(a.faulty) || b.p - a.p);
  return tooltipHtml(duration(t), rows);
}

function csv({ run }: ChosenRun): CsvTable {
  const rows = lines(run).flatMap(({ learner, t_s, contribution }) =>
    t_s.map((t, i) => [learner.learner, learner.name, learner.group, learner.faulty, t, contribution[i]]),
  );
  return { columns: ["learner", "name", "device_group", "faulty", "t_s", "contribution"], rows };
}

function entries({ run }: ChosenRun, devices: string[], view: View): LegendEntry[] {
  const drawn = lines(run);
  const names = [...new Set(drawn.map(nameOf))].sort((a, b) => Number(a === FAULTY) - Number(b === FAULTY));
  return names.map((name) => {
    const line = drawn.find((candidate) => nameOf(candidate) === name)!;
    return { name, colour: colourOf(line, devices, view), mark: "line", dash: name === FAULTY ? "dashed" : "solid" };
  });
}

export function contributions(report: Report): FigureSpec | null {
  const runs = runsWith(report, (run) => run.updates.t_s.length > 0);
  if (runs.length === 0) return null;
  const devices = deviceGroups(report);
  return {
    id: "contributions",
    title: "How much each learner counts",
    note:
      "A line is a learner: its contribution p_k to the community model, from one committed update to the next. " +
      "Colours are those of the devices." +
      thinningNote(report, (run) => run.updates, "updates"),
    choices: runChoices(runs, preferred(runs, DVW)),
    height: (view) => (view.width < 560 ? 300 : 360),
    legend: (view) => entries(chosen(runs, view.choice), devices, view),
    option: (view) => option(chosen(runs, view.choice), devices, view),
    csv: (choice) => csv(chosen(runs, choice)),
  };
}
