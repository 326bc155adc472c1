// Update rate and memory while this controller's process ran.

import { countLabel, FONT, PLOT, tooltip, tooltipHtml, xAxis, yAxis } from "../shared/axes";
import type { ChartOption } from "../shared/echarts";
import type { FigureSpec, View } from "../shared/figure";
import { duration, timeUnit } from "../shared/format";
import type { Seen } from "./data";
import { bytes, rate } from "./text";

interface Curve {
  id: string;
  title: string;
  note: string;
  axis: string;
  label: string;
  series: number; // its colour
  past: (seen: Seen) => number[];
  now: (seen: Seen) => number;
  format: (value: number) => string;
  csv: string;
}

// The history and, after it, the present; over the time of this process.
function points(seen: Seen, curve: Curve): number[][] {
  const { time_s, uptime_s } = seen.status;
  const past = curve.past(seen);
  const all = seen.history.time_s.map((time, i) => [Math.max(0, time - time_s + uptime_s), past[i]]);
  if (all.length === 0 || all[all.length - 1][0] < uptime_s) all.push([uptime_s, curve.now(seen)]);
  return all;
}

function option(seen: Seen, curve: Curve, view: View): ChartOption {
  const all = points(seen, curve);
  const unit = timeUnit(all[all.length - 1][0]);
  const colour = view.theme.series[curve.series];
  const format = { formatter: (value: number) => curve.format(value) };
  return {
    grid: { ...PLOT, left: curve.id === "memory" ? 68 : PLOT.left },
    xAxis: xAxis(view.theme, `time since the controller was started (${unit.name})`, {
      min: all[0][0] / unit.seconds,
      max: all[all.length - 1][0] / unit.seconds,
      axisLabel: { ...countLabel(view.theme), showMaxLabel: false, showMinLabel: false },
    }),
    yAxis: yAxis(view.theme, curve.axis, {
      min: 0,
      axisLabel: { color: view.theme.muted, fontSize: 12, fontFamily: FONT, ...format },
    }),
    tooltip: tooltip(view.theme, {
      formatter: ([point]: { data: number[] }[]) =>
        tooltipHtml(duration(point.data[0] * unit.seconds), [
          { colour, label: curve.label, value: curve.format(point.data[1]) },
        ]),
    }),
    series: [
      {
        type: "line",
        data: all.map(([time, value]) => [time / unit.seconds, value]),
        showSymbol: false,
        lineStyle: { width: 1.75, color: colour },
        itemStyle: { color: colour },
        areaStyle: { color: colour, opacity: 0.08 },
        emphasis: { disabled: true },
      },
    ],
  };
}

function figure(seen: Seen, curve: Curve): FigureSpec {
  return {
    id: curve.id,
    title: curve.title,
    note: curve.note,
    height: (view) => (view.width < 560 ? 220 : 250),
    legend: () => [],
    option: (view) => option(seen, curve, view),
    csv: () => ({ columns: ["uptime_s", curve.csv], rows: points(seen, curve) }),
    empty: () => {
      const all = points(seen, curve);
      return all[all.length - 1][0] > all[0][0] ? null : "A moment: it begins with the second sample.";
    },
  };
}

export function updateRate(seen: Seen): FigureSpec {
  return figure(seen, {
    id: "rate",
    title: "Update rate",
    note: "Update requests committed a minute, since this controller was started.",
    axis: "requests (1/min)",
    label: "requests a minute",
    series: 2,
    past: ({ history }) => history.requests_per_minute,
    now: ({ status }) => status.requests_per_minute,
    format: rate,
    csv: "requests_per_minute",
  });
}

export function memory(seen: Seen): FigureSpec {
  return figure(seen, {
    id: "memory",
    title: "Memory",
    note: "Resident memory of the controller, since it was started.",
    axis: "memory (bytes)",
    label: "memory",
    series: 6,
    past: ({ history }) => history.memory_bytes,
    now: ({ status }) => status.memory_bytes,
    format: bytes,
    csv: "memory_bytes",
  });
}
