// What the federation cost: update requests and models exchanged, side by side for each group.

import { FONT, PLOT, countLabel, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { CsvTable, FigureSpec, View } from "../shared/figure";
import { count } from "../shared/format";
import { deviation, mean } from "../shared/statistics";
import { type Group, isCentralised, type Report, type Run } from "./data";

interface Amount {
  name: string;
  column: string;
  of: (run: Run) => number;
  axis: 0 | 1;
}

const AMOUNTS: Amount[] = [
  { name: "update requests (left)", column: "requests", of: (run) => run.requests, axis: 0 },
  { name: "models exchanged (right)", column: "models_exchanged", of: (run) => run.models_exchanged, axis: 1 },
  {
    name: "models for evaluation (right)",
    column: "models_for_evaluation",
    of: (run) => run.models_for_evaluation,
    axis: 1,
  },
];

const LONGEST = 24; // characters of a label below the chart

// Labels differ at their ends: what is left out is in the middle.
function shortened(label: string): string {
  if (label.length <= LONGEST) return label;
  return `${label.slice(0, 10).trimEnd()} … ${label.slice(13 - LONGEST).trimStart()}`;
}

const averages = (groups: Group[], amount: Amount) => groups.map((group) => mean(group.runs.map(amount.of)));

function option(groups: Group[], view: View): ChartOption {
  const labels = groups.map((group) => group.label);
  const slot = (view.width - 2 * PLOT.left) / labels.length;
  const longest = Math.max(...labels.map((label) => label.length));
  const upright = longest * 6.6 < slot;
  const steep = slot <= 34;
  const room = 7 * Math.min(LONGEST, longest) * Math.sin(((steep ? 65 : 35) * Math.PI) / 180);
  const grid = { ...PLOT, right: PLOT.left, bottom: upright ? 32 : 20 + room };
  return {
    grid,
    xAxis: xAxis(view.theme, "", {
      type: "category",
      data: labels,
      axisLabel: {
        color: view.theme.ink,
        fontSize: 12,
        fontFamily: FONT,
        interval: 0,
        rotate: upright ? 0 : steep ? 65 : 35,
        formatter: upright ? undefined : shortened,
      },
    }),
    yAxis: [
      yAxis(view.theme, "requests", { axisLabel: countLabel(view.theme) }),
      yAxis(view.theme, "models", {
        position: "right",
        alignTicks: true,
        axisLabel: countLabel(view.theme),
        splitLine: { show: false },
      }),
    ],
    tooltip: tooltip(view.theme, {
      axisPointer: { type: "shadow", shadowStyle: { color: view.theme.muted, opacity: 0.1 } },
      formatter: (points: { dataIndex: number }[]) => tip(groups, points[0].dataIndex, view),
    }),
    series: AMOUNTS.map((amount, i) => ({
      type: "bar",
      name: amount.name,
      yAxisIndex: amount.axis,
      barMaxWidth: 34,
      barGap: "8%",
      itemStyle: { color: view.theme.amounts[i], borderRadius: [2, 2, 0, 0] },
      emphasis: { disabled: true },
      data: averages(groups, amount),
    })).filter((series) => view.shows(series.name)),
  };
}

function tip(groups: Group[], index: number, view: View): string {
  const group = groups[index];
  const rows = AMOUNTS.map((amount, i) => {
    const values = group.runs.map(amount.of);
    const spread = values.length > 1 ? ` ± ${count(deviation(values))}` : "";
    const label = amount.name.replace(/ \(.*\)/, "");
    return { colour: view.theme.amounts[i], label, value: count(mean(values)) + spread };
  });
  return tooltipHtml(group.label, rows);
}

function csv(groups: Group[]): CsvTable {
  const rows = groups.map((group, i) => [
    group.label,
    group.runs.length,
    ...AMOUNTS.map((amount) => averages(groups, amount)[i]),
  ]);
  return { columns: ["group", "seeds", ...AMOUNTS.map((amount) => amount.column)], rows };
}

export function federation(report: Report): FigureSpec | null {
  const groups = report.groups.filter((group) => !isCentralised(group));
  if (groups.length === 0) return null;
  const several = groups.some((group) => group.runs.length > 1);
  return {
    id: "federation",
    title: "What the federation cost in requests and models",
    note:
      "Update requests committed, models sent in all (two for each request, plus those for evaluation), and " +
      `models sent to evaluators${several ? "; means over seeds" : ""}. Requests and models have scales of their own.`,
    height: (view) => (view.width < 560 ? 340 : 380) + (groups.length > 8 ? 80 : 0),
    legend: ({ theme }) =>
      AMOUNTS.map((amount, i) => ({ name: amount.name, colour: theme.amounts[i], mark: "box" as const })),
    option: (view) => option(groups, view),
    csv: () => csv(groups),
  };
}
