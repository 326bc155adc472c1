// A legend of buttons: each shows or hides what it names, by mouse and by keyboard.

import { h } from "./dom";

export interface LegendEntry {
  name: string; // what is shown or hidden
  label?: string; // where it reads differently
  colour: string;
  mark: "line" | "box" | "circle" | "triangle" | "diamond" | "square";
  dash?: "solid" | "dashed" | "dotted";
}

const DASHES = { solid: "", dashed: "5 3", dotted: "1.5 3" };
const MARKS = {
  box: "M3 2h12v10h-12z",
  square: "M4.5 2.5h9v9h-9z",
  circle: "M9 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0 -9z",
  triangle: "M9 1.5l5.5 10.5h-11z",
  diamond: "M9 1l6 6l-6 6l-6 -6z",
};

export function swatch(entry: LegendEntry): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 18 14");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(space, "path");
  if (entry.mark === "line") {
    path.setAttribute("d", "M0 7h18");
    path.style.stroke = entry.colour;
    path.setAttribute("stroke-width", "2.5");
    path.setAttribute("stroke-dasharray", DASHES[entry.dash ?? "solid"]);
  } else {
    path.setAttribute("d", MARKS[entry.mark]);
    path.style.fill = entry.colour;
  }
  svg.append(path);
  return svg;
}

const MANY = 24;

export function legend(
  entries: LegendEntry[],
  hidden: ReadonlySet<string>,
  toggle: (name: string) => void,
): HTMLElement {
  const buttons = entries.map((entry) => {
    const shown = !hidden.has(entry.name);
    const button = h("button", { type: "button", "aria-pressed": String(shown), "data-name": entry.name });
    button.title = shown ? `hide ${entry.name}` : `show ${entry.name}`;
    button.append(swatch(entry), h("span", {}, entry.label ?? entry.name));
    button.addEventListener("click", () => toggle(entry.name));
    return button;
  });
  const bar = h("div", { class: "legend", role: "group", "aria-label": "shown series" }, ...buttons);
  if (entries.length <= MANY) return bar;
  return h("details", { class: "legend-many" }, h("summary", {}, `Legend: ${entries.length} entries`), bar);
}
