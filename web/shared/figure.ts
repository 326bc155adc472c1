// A chart as a figure of a paper: number, title, one sentence on how to read it, controls, legend, CSV button.
// The figure keeps what the reader chose and hid; a specification turns that into a drawing, a legend and a
// table. Drawing anew is the only way to change something: for another choice, theme, width, or for paper.

import { type Cell, type CsvTable, csvText, download } from "./csv";
import { h } from "./dom";
import { type Chart, type ChartOption, newChart } from "./echarts";
import { type LegendEntry, legend } from "./legend";
import { readTheme, type Theme } from "./theme";

export type { Cell, CsvTable };

export interface View {
  theme: Theme;
  width: number; // of the drawing, in CSS pixels
  choice: string;
  shows: (name: string) => boolean; // not hidden through the legend
}

export interface Choice {
  value: string;
  label: string;
  section?: string; // heading under which it is listed
}

export interface FigureSpec {
  id: string; // of the element, and the name of the CSV file
  title: string;
  note: string;
  choices?: { label: string; options: Choice[]; first?: string };
  height: (view: View) => number;
  legend: (view: View) => LegendEntry[];
  option: (view: View) => ChartOption;
  csv: (choice: string) => CsvTable;
  inset?: (view: View, chart: HTMLElement) => void; // draws what lies over or beside the chart
  empty?: () => string | null; // the sentence that stands in for the chart while there is nothing to draw
}

const figures: Figure[] = [];

// For all figures of the page: after a change of the theme, and before and after printing.
export function redrawAll(width?: number): void {
  for (const figure of figures) figure.redraw(width);
}

export class Figure {
  readonly element: HTMLElement;
  private readonly spec: FigureSpec;
  private readonly box = h("div", { class: "chart" });
  private readonly legendBox = h("div", { class: "legend-box" });
  private readonly emptyBox = h("p", { class: "empty" });
  private readonly hidden = new Set<string>();
  private chart: Chart | null = null;
  private choice: string;
  private drawnWidth = 0;

  // Without a number it is one of a page whose figures nobody cites.
  constructor(spec: FigureSpec, number: number | null) {
    this.spec = spec;
    this.choice = spec.choices?.first ?? spec.choices?.options[0]?.value ?? "";
    const name = number === null ? "this chart" : `figure ${number}`;
    const csv = h("button", { type: "button", class: "csv", title: `download the data of ${name}` }, "CSV");
    csv.addEventListener("click", () => download(this.fileName(), csvText(spec.csv(this.choice))));
    const label = number === null ? null : h("span", { class: "number" }, `Figure ${number}`);
    const heading = h("h3", {}, label, label && " ", spec.title);
    this.element = h(
      "figure",
      { id: spec.id, class: "figure" },
      h("figcaption", {}, h("div", { class: "figure-head" }, heading, csv), h("p", { class: "note" }, spec.note)),
      this.controls(),
      this.legendBox,
      this.emptyBox,
      this.box,
    );
    this.emptyBox.hidden = true;
    this.box.setAttribute("role", "img");
    this.box.setAttribute("aria-label", `${spec.title}. ${spec.note} The CSV button has its values.`);
    figures.push(this);
  }

  // Draws once the element is in the page, and again whenever its width changes.
  start(): void {
    this.redraw();
    new ResizeObserver(() => {
      if (Math.abs(this.box.clientWidth - this.drawnWidth) > 1) this.redraw();
    }).observe(this.box);
  }

  redraw(width = this.box.clientWidth): void {
    if (this.standIn() || width === 0) return;
    this.drawnWidth = width;
    const view = this.view(width);
    const height = this.spec.height(view);
    if (this.chart === null) this.chart = newChart(this.box, width, height);
    else this.chart.resize({ width, height });
    this.chart.setOption({ animation: false, ...this.spec.option(view) }, { notMerge: true });
    this.drawLegend(view);
    this.spec.inset?.(view, this.box);
  }

  // The place of the chart is kept, so that the page does not jump when there is something to draw.
  private standIn(): boolean {
    const sentence = this.spec.empty?.() ?? null;
    this.emptyBox.hidden = sentence === null;
    this.emptyBox.textContent = sentence ?? "";
    for (const part of [this.box, this.legendBox]) part.classList.toggle("nothing", sentence !== null);
    return sentence !== null;
  }

  private view(width: number): View {
    const shows = (name: string) => !this.hidden.has(name);
    return { theme: readTheme(), width, choice: this.choice, shows };
  }

  // The button that was pressed is replaced by its successor, which takes the focus over.
  private drawLegend(view: View): void {
    const focused = document.activeElement;
    const name = this.legendBox.contains(focused) ? focused?.getAttribute("data-name") : null;
    const open = this.legendBox.querySelector("details")?.open ?? false;
    const drawn = legend(this.spec.legend(view), this.hidden, (toggled) => this.toggle(toggled));
    this.legendBox.replaceChildren(drawn);
    if (drawn instanceof HTMLDetailsElement) drawn.open = open;
    if (name) this.legendBox.querySelector<HTMLElement>(`[data-name="${CSS.escape(name)}"]`)?.focus();
  }

  private toggle(name: string): void {
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.redraw();
  }

  private choose(value: string): void {
    this.choice = value;
    this.hidden.clear();
    this.redraw();
  }

  private controls(): HTMLElement | null {
    const choices = this.spec.choices;
    if (choices === undefined || choices.options.length < 2) return null;
    const few = choices.options.length <= 2 && choices.options.every((option) => option.label.length < 24);
    return few ? this.segments(choices.options) : this.select(choices.label, choices.options);
  }

  private segments(options: Choice[]): HTMLElement {
    const buttons = options.map((option) => {
      const pressed = String(option.value === this.choice);
      return h("button", { type: "button", "aria-pressed": pressed, "data-choice": option.value }, option.label);
    });
    for (const button of buttons)
      button.addEventListener("click", () => {
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        this.choose(button.dataset.choice ?? "");
      });
    return h("div", { class: "controls segments", role: "group" }, ...buttons);
  }

  private select(label: string, options: Choice[]): HTMLElement {
    const select = h("select");
    const sections = new Map<string, HTMLElement>();
    for (const option of options) {
      const item = h("option", { value: option.value }, option.label);
      if (option.section === undefined) {
        select.append(item);
        continue;
      }
      let section = sections.get(option.section);
      if (section === undefined) {
        section = h("optgroup", { label: option.section });
        sections.set(option.section, section);
        select.append(section);
      }
      section.append(item);
    }
    select.value = this.choice;
    select.addEventListener("change", () => this.choose(select.value));
    return h("div", { class: "controls" }, h("label", {}, `${label} `, select));
  }

  private fileName(): string {
    const parts = [this.spec.id, this.choice].filter((part) => part !== "");
    return `${parts.join("-").replace(/[^\w.=-]+/g, "_").slice(0, 100)}.csv`;
  }
}
