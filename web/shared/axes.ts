// Axes, plot areas and tooltips in the page's visual language: thin rules, quiet labels, the name of a vertical
// axis above it, where it can be read without turning one's head.

import { escape } from "./dom";
import { trim } from "./format";
import type { Theme } from "./theme";

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
export const PLOT = { left: 56, right: 18, top: 34, bottom: 48 };

type Extra = Record<string, unknown>;

function base(theme: Theme): Extra {
  return {
    type: "value",
    axisLine: { show: true, lineStyle: { color: theme.rule } },
    axisTick: { show: false },
    axisLabel: { color: theme.muted, fontSize: 12, fontFamily: FONT, hideOverlap: true },
    splitLine: { lineStyle: { color: theme.rule, width: 1 } },
  };
}

export function xAxis(theme: Theme, name: string, extra: Extra = {}): Extra {
  return {
    ...base(theme),
    splitLine: { show: false },
    name,
    nameLocation: "middle",
    nameGap: 30,
    nameTextStyle: { color: theme.muted, fontSize: 12, fontFamily: FONT },
    ...extra,
  };
}

export function yAxis(theme: Theme, name: string, extra: Extra = {}): Extra {
  const right = extra.position === "right";
  const offset = PLOT.left - 8;
  return {
    ...base(theme),
    axisLine: { show: false },
    name,
    nameLocation: "end",
    nameGap: 14,
    nameTextStyle: {
      color: theme.muted,
      fontSize: 12,
      fontFamily: FONT,
      lineHeight: 15,
      align: right ? "right" : "left",
      padding: right ? [0, -offset, 0, 0] : [0, 0, 0, -offset],
    },
    ...extra,
  };
}

export function tooltip(theme: Theme, extra: Extra): Extra {
  return {
    trigger: "axis",
    confine: true,
    transitionDuration: 0,
    backgroundColor: theme.raised,
    borderColor: theme.rule,
    padding: [8, 12],
    textStyle: { color: theme.ink, fontSize: 13, fontFamily: FONT },
    axisPointer: { type: "line", lineStyle: { color: theme.muted, width: 1 }, label: { show: false } },
    extraCssText: "box-shadow: 0 4px 18px rgb(0 0 0 / 12%); border-radius: 6px;",
    ...extra,
  };
}

export interface TooltipRow {
  colour: string;
  label: string;
  value: string;
}

// A heading and rows of swatch, label, value; as many rows as fit a small screen, the rest is counted.
export function tooltipHtml(heading: string, rows: TooltipRow[], most = 14): string {
  const lines = rows.slice(0, most).map(
    (row) =>
      `<tr><td><i style="background:${row.colour}"></i></td><td>${escape(row.label)}</td>` +
      `<td>${escape(row.value)}</td></tr>`,
  );
  const rest = rows.length - lines.length;
  const more = rest > 0 ? `<div class="tip-more">and ${rest} more</div>` : "";
  return `<div class="tip"><b>${escape(heading)}</b><table>${lines.join("")}</table>${more}</div>`;
}

export const percentLabel = (theme: Theme) => ({
  color: theme.muted,
  fontSize: 12,
  fontFamily: FONT,
  formatter: (value: number) => `${trim(100 * value, 1)} %`,
});

// 12,000 -> 12k: labels of counts stay narrower than the margin.
export const countLabel = (theme: Theme) => ({
  color: theme.muted,
  fontSize: 12,
  fontFamily: FONT,
  hideOverlap: true,
  formatter: (value: number) => {
    if (Math.abs(value) >= 1e6) return `${trim(value / 1e6, 1)}M`;
    return Math.abs(value) >= 1e4 ? `${trim(value / 1e3, 1)}k` : trim(value, 3);
  },
});
