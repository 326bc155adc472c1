// The data distribution in large: examples of each learner, stacked by class, faulty learners marked.

import { FONT, PLOT, countLabel, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { CsvTable, FigureSpec, View } from "../shared/figure";
import { count } from "../shared/format";
import { scaleStep } from "../shared/theme";
import { type Distribution, examples } from "./distributions";

const FAULTY = "faulty learner";
const className = (index: number) => `class ${index}`;

function option(distribution: Distribution, view: View): ChartOption {
  const { learners, classes } = distribution;
  const shown = Array.from({ length: classes }, (_, c) => c).filter((c) => view.shows(className(c)));
  const roomy = view.width / learners.length > 44;
  const label = {
    color: view.theme.muted,
    fontSize: 12,
    fontFamily: FONT,
    lineHeight: 16,
    hideOverlap: true,
    formatter: (_: string, i: number) =>
      roomy ? `${learners[i].learner}\n${learners[i].group}` : String(learners[i].learner),
  };
  return {
    grid: { ...PLOT, bottom: roomy ? 64 : PLOT.bottom },
    xAxis: xAxis(view.theme, "learner (number)", {
      type: "category",
      data: learners.map((learner) => learner.name),
      nameGap: roomy ? 44 : 30,
      axisLabel: label,
    }),
    yAxis: yAxis(view.theme, "training and validation examples (number)", { axisLabel: countLabel(view.theme) }),
    tooltip: tooltip(view.theme, {
      axisPointer: { type: "shadow", shadowStyle: { color: view.theme.muted, opacity: 0.1 } },
      formatter: (points: { dataIndex: number }[]) => tip(distribution, points[0].dataIndex, shown),
    }),
    series: [...shown.map((c) => classSeries(distribution, c)), ...faultySeries(distribution, shown, view)],
  };
}

function classSeries({ learners, classes }: Distribution, c: number) {
  const many = learners.length * classes > 3000;
  return {
    type: "bar",
    name: className(c),
    stack: "examples",
    barCategoryGap: learners.length > 40 ? "12%" : "28%",
    data: learners.map((learner) => learner.class_counts?.[c] || (many ? 0 : null)),
    itemStyle: { color: scaleStep(c, classes) },
    large: many,
    largeThreshold: 1,
    emphasis: { disabled: true },
  };
}

function faultySeries({ learners }: Distribution, shown: number[], view: View) {
  const data = learners.flatMap((learner, i) => {
    const height = shown.reduce((sum, c) => sum + (learner.class_counts?.[c] ?? 0), 0);
    return learner.faulty === null ? [] : [[i, height]];
  });
  if (data.length === 0 || !view.shows(FAULTY)) return [];
  const mark = { type: "scatter", name: FAULTY, data, symbol: "triangle", symbolSize: 12, symbolOffset: [0, -10] };
  return [{ ...mark, itemStyle: { color: view.theme.alarm }, emphasis: { disabled: true }, z: 5 }];
}

function tip({ learners, classes }: Distribution, index: number, shown: number[]): string {
  const learner = learners[index];
  const rows = shown
    .filter((c) => (learner.class_counts?.[c] ?? 0) > 0)
    .map((c) => ({ colour: scaleStep(c, classes), label: className(c), value: count(learner.class_counts![c]) }));
  const faulty = learner.faulty === null ? "" : `, faulty: ${learner.faulty}`;
  return tooltipHtml(`${learner.name}, ${learner.group}${faulty}: ${count(examples(learner))} examples`, rows);
}

function csv({ learners, classes }: Distribution): CsvTable {
  const columns = ["learner", "name", "device_group", "faulty"];
  for (let c = 0; c < classes; ++c) columns.push(`class_${c}`);
  const rows = learners.map((l) => [l.learner, l.name, l.group, l.faulty, ...(l.class_counts ?? [])]);
  return { columns, rows };
}

export function distributionFigure(all: Distribution[]): FigureSpec | null {
  if (all.length === 0) return null;
  const of = (key: string) => all.find((candidate) => candidate.key === key) ?? all[0];
  const isFaulty = (distribution: Distribution) => distribution.learners.some((learner) => learner.faulty !== null);
  return {
    id: "distribution",
    title: "What data the learners hold",
    note:
      `A bar is a learner, stacked by class${all.length === 1 ? `; the same for ${all[0].key}` : ""}.` +
      (all.some(isFaulty) ? " A triangle marks a learner whose labels were made faulty on purpose." : ""),
    choices: { label: "Dealt to", options: all.map(({ key }) => ({ value: key, label: key })) },
    height: (view) => (view.width < 560 ? 300 : 360),
    legend: ({ theme, choice }) => {
      const { classes } = of(choice);
      const entries = Array.from({ length: classes }, (_, c) => {
        return { name: className(c), colour: scaleStep(c, classes), mark: "box" as "box" | "triangle" };
      });
      if (isFaulty(of(choice))) entries.push({ name: FAULTY, colour: theme.alarm, mark: "triangle" });
      return entries;
    },
    option: (view) => option(of(view.choice), view),
    csv: (choice) => csv(of(choice)),
  };
}
