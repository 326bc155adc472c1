// The data distribution in small, in a corner of the convergence chart that its lines leave free; below the
// chart where there is no such corner, or no room.

import { PLOT } from "../shared/axes";
import { h } from "../shared/dom";
import type { View } from "../shared/figure";
import { scaleStep } from "../shared/theme";
import { type Distribution, examples } from "./distributions";

const WIDTH = 196;
const HEIGHT = 118;
const CORNERS = ["right-bottom", "left-top", "right-top", "left-bottom"];

// Points are shares of the plot area, from its lower left corner.
function freeCorner(view: View, chartHeight: number, points: number[][]): string | null {
  if (view.width < 560) return null;
  const width = (WIDTH + 34) / (view.width - PLOT.left - PLOT.right);
  const height = (HEIGHT + 34) / (chartHeight - PLOT.top - PLOT.bottom);
  return (
    CORNERS.find((corner) => {
      const right = corner.startsWith("right");
      const top = corner.endsWith("top");
      return !points.some(([x, y]) => (right ? x > 1 - width : x < width) && (top ? y > 1 - height : y < height));
    }) ?? null
  );
}

export function drawInset(distribution: Distribution, view: View, chart: HTMLElement, points: number[][]): void {
  const figure = chart.parentElement;
  if (figure === null) return;
  figure.querySelector(".inset")?.remove();
  const corner = freeCorner(view, chart.clientHeight, points) ?? "below";
  const link = h("a", { class: `inset ${corner}`, href: "#distribution", title: "see it in large" });
  const width = corner === "below" ? Math.min(view.width, 360) : WIDTH;
  link.append(bars(distribution, width, view), h("span", {}, "examples of each learner, by class"));
  if (corner === "below") chart.after(link);
  else chart.append(link);
}

// One path a class: with 200 learners and 62 classes single bars would be thousands.
function bars({ learners, classes }: Distribution, width: number, view: View): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  svg.setAttribute("width", String(width));
  svg.setAttribute("height", String(HEIGHT));
  svg.setAttribute("aria-hidden", "true");
  const path = (d: string, fill: string) => {
    const element = document.createElementNS(space, "path");
    element.setAttribute("d", d);
    element.setAttribute("fill", fill);
    svg.append(element);
  };
  const top = 12; // for the marks of faulty learners
  const highest = Math.max(1, ...learners.map(examples));
  const slot = width / learners.length;
  const bar = Math.max(slot * 0.78, slot - 4);
  const bases = learners.map(() => HEIGHT - 1);
  for (let c = 0; c < classes; ++c) {
    let d = "";
    learners.forEach((learner, i) => {
      const height = ((learner.class_counts?.[c] ?? 0) / highest) * (HEIGHT - top - 1);
      if (height === 0) return;
      bases[i] -= height;
      d += `M${(i * slot).toFixed(2)} ${bases[i].toFixed(2)}h${bar.toFixed(2)}v${height.toFixed(2)}h-${bar.toFixed(2)}z`;
    });
    if (d !== "") path(d, scaleStep(c, classes));
  }
  const half = Math.min(5, Math.max(3, bar / 3));
  learners.forEach((learner, i) => {
    const x = i * slot + bar / 2;
    if (learner.faulty !== null) path(`M${x} ${bases[i] - 2 * half - 2}l${half} ${2 * half}h-${2 * half}z`, view.theme.alarm);
  });
  path(`M0 ${HEIGHT - 1}h${width}v1h-${width}z`, view.theme.rule);
  return svg;
}
