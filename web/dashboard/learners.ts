// The table of participants: one row each, for one and for hundreds. Rows are kept and only what changed in them is
// written; they move when their order changes. Sorted by any column, filtered by state and by name.

import { h } from "../shared/dom";
import { count, duration, significant } from "../shared/format";
import { isLearner, type Participant, type Status } from "./data";
import { compareStates, stateNames, stateVariable } from "./states";
import { rate, setAttribute, setStyle, setText } from "./text";
import { StateBar } from "./tiles";

const FEW = 8; // rows that need no filter
const DASH = "–";

interface Column {
  id: string;
  heading: string;
  title: string;
  text: (one: Participant) => string;
  compare: (a: Participant, b: Participant) => number; // as a first click sorts
}

const byNumber = (of: (one: Participant) => number | null) => (a: Participant, b: Participant) => {
  const [x, y] = [of(a) ?? -1, of(b) ?? -1];
  return y - x; // the largest first
};
const numeric = new Intl.Collator("en", { numeric: true });
const optional = (value: number | null, format: (value: number) => string) => (value === null ? DASH : format(value));
const ofLearners = (text: (one: Participant) => string) => (one: Participant) => (isLearner(one) ? text(one) : "");

const COLUMNS: Column[] = [
  { id: "name", heading: "Participant", title: "Its name and group", text: (one) => one.name, compare: (a, b) => numeric.compare(a.name, b.name) },
  { id: "state", heading: "State", title: "What it does", text: (one) => one.state, compare: (a, b) => compareStates(a.state, b.state) },
  { id: "share", heading: "Share", title: "Its part of all contributions in the community model", text: ofLearners((one) => one.contribution === 0 ? DASH : `${(100 * one.share).toFixed(one.share < 0.1 ? 2 : 1)}\u00a0%`), compare: byNumber((one) => one.share) },
  { id: "contribution", heading: "Weight p", title: "Its contribution p_k; 0: none of its models is in the community", text: ofLearners((one) => (one.contribution === 0 ? DASH : significant(one.contribution))), compare: byNumber((one) => one.contribution) },
  { id: "staleness", heading: "Staleness", title: "Steps committed since it got the model that it holds", text: ofLearners((one) => optional(one.staleness, count)), compare: byNumber((one) => one.staleness) },
  { id: "version", heading: "Version", title: "The newest version that it was sent", text: (one) => optional(one.version, count), compare: byNumber((one) => one.version) },
  { id: "updates", heading: "Updates", title: "Updates committed; in brackets, those refused", text: ofLearners((one) => count(one.updates) + (one.rejected > 0 ? ` (${count(one.rejected)})` : "")), compare: byNumber((one) => one.updates) },
  { id: "updates_per_minute", heading: "A minute", title: "Updates a minute, over the last minute", text: ofLearners((one) => rate(one.updates_per_minute)), compare: byNumber((one) => one.updates_per_minute) },
  { id: "epochs", heading: "Epochs", title: "Local epochs that it trained", text: ofLearners((one) => count(one.epochs)), compare: byNumber((one) => one.epochs) },
  { id: "examples", heading: "Examples", title: "Its training examples", text: ofLearners((one) => count(one.training_examples)), compare: byNumber((one) => one.training_examples) },
  { id: "last_seen_s", heading: "Last seen", title: "How long ago it said something", text: (one) => optional(one.last_seen_s, (s) => (s < 2 ? "now" : `${duration(Math.round(s))}\u00a0ago`)), compare: byNumber((one) => one.last_seen_s) },
];

// A name, a group: anybody's text, which goes in as text.
class Row {
  readonly element = h("tr");
  private readonly texts = new Map<string, HTMLElement>();
  private readonly group = h("small");
  private readonly dot = h("i", { class: "dot" });
  private readonly bar = h("i", { class: "bar" });

  constructor(one: Participant) {
    this.element.dataset.id = String(one.id);
    for (const column of COLUMNS) {
      const text = h("span");
      const cell = column.id === "name" ? h("th", { scope: "row" }, text, this.group) : h("td", {}, text);
      if (column.id === "state") cell.prepend(this.dot);
      if (column.id === "share") cell.prepend(this.bar);
      cell.dataset.column = column.id;
      this.texts.set(column.id, text);
      this.element.append(cell);
    }
  }

  show(one: Participant, mostShare: number): void {
    for (const column of COLUMNS) setText(this.texts.get(column.id)!, column.text(one));
    setText(this.group, isLearner(one) ? one.group : one.group === "" ? one.role : `${one.role}, ${one.group}`);
    setAttribute(this.element, "data-state", one.state);
    const address = one.connected ? `connected from ${one.address}` : "not connected";
    setAttribute(this.element, "title", `${one.name}: ${address}, life ${one.incarnation}`);
    setStyle(this.dot, "background", stateVariable(one.state));
    setStyle(this.bar, "--part", mostShare > 0 ? (one.share / mostShare).toFixed(4) : "0");
  }
}

export class Learners {
  readonly element: HTMLElement;
  private readonly rows = new Map<number, Row>();
  private readonly body = h("tbody");
  private readonly heads = new Map<string, HTMLElement>();
  private readonly box: HTMLElement;
  private readonly filters = h("div", { class: "filters" });
  private readonly chips = h("div", { class: "chips", role: "group", "aria-label": "shown states" });
  private readonly search = h("input", { type: "search", placeholder: "Find a name", "aria-label": "Find a name" });
  private readonly none = h("p", { class: "empty" });
  private readonly states = new StateBar();
  private sorted = "name";
  private reversed = false;
  private chosen = ""; // state; empty: all
  private status: Status | null = null;

  constructor() {
    const head = h("tr", {}, ...COLUMNS.map((column) => this.heading(column)));
    const table = h("table", {}, h("thead", {}, head), this.body);
    this.box = h("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Participants" }, table);
    this.search.addEventListener("input", () => this.draw());
    this.filters.append(this.chips, this.search);
    this.element = h(
      "section",
      { id: "learners", class: "figure" },
      h("div", { class: "figure-head" }, h("h3", {}, "Who takes part")),
      this.states.element,
      this.filters,
      this.none,
      this.box,
    );
  }

  show(status: Status): void {
    this.status = status;
    this.states.show(status);
    this.draw();
  }

  private heading(column: Column): HTMLElement {
    const button = h("button", { type: "button", title: column.title }, column.heading);
    const cell = h("th", { scope: "col", "data-column": column.id }, button);
    button.addEventListener("click", () => {
      this.reversed = this.sorted === column.id ? !this.reversed : false;
      this.sorted = column.id;
      this.draw();
    });
    this.heads.set(column.id, cell);
    return cell;
  }

  private draw(): void {
    if (this.status === null) return;
    const all = this.status.participants;
    this.drawFilters(all);
    const wanted = this.search.value.trim().toLowerCase();
    const shown = all.filter(
      (one) =>
        (this.chosen === "" || one.state === this.chosen) &&
        (wanted === "" || `${one.name} ${one.group} ${one.role}`.toLowerCase().includes(wanted)),
    );
    const column = COLUMNS.find(({ id }) => id === this.sorted)!;
    const turn = this.reversed ? -1 : 1;
    shown.sort((a, b) => turn * column.compare(a, b) || numeric.compare(a.name, b.name) || a.id - b.id);
    for (const [id, head] of this.heads)
      setAttribute(head, "aria-sort", id !== this.sorted ? "none" : this.reversed ? "descending" : "ascending");
    this.drawRows(shown, Math.max(0, ...all.map((one) => one.share)));
    setText(this.none, all.length === 0 ? "Nobody has joined yet." : shown.length === 0 ? "None is like this." : "");
    this.none.hidden = shown.length > 0;
    this.box.hidden = all.length === 0;
  }

  private drawRows(shown: Participant[], mostShare: number): void {
    let next = this.body.firstElementChild;
    for (const one of shown) {
      let row = this.rows.get(one.id);
      if (row === undefined) this.rows.set(one.id, (row = new Row(one)));
      row.show(one, mostShare);
      if (row.element === next) next = next.nextElementSibling;
      else this.body.insertBefore(row.element, next);
    }
    while (next !== null) {
      const after = next.nextElementSibling;
      next.remove();
      next = after;
    }
  }

  private drawFilters(all: Participant[]): void {
    this.filters.hidden = all.length <= FEW;
    if (this.filters.hidden) {
      this.chosen = "";
      this.search.value = "";
    }
    const states = ["", ...stateNames([...all.map((one) => one.state), ...(this.chosen === "" ? [] : [this.chosen])])];
    const have = [...this.chips.children].map((chip) => (chip as HTMLElement).dataset.state);
    if (states.join() !== have.join()) this.chips.replaceChildren(...states.map((state) => this.chip(state)));
    for (const chip of this.chips.children as HTMLCollectionOf<HTMLElement>) {
      const state = chip.dataset.state ?? "";
      const number = state === "" ? all.length : all.filter((one) => one.state === state).length;
      setText(chip.lastElementChild!, `${state === "" ? "all" : state} ${count(number)}`);
      setAttribute(chip, "aria-pressed", String(state === this.chosen));
    }
  }

  private chip(state: string): HTMLElement {
    const chip = h("button", { type: "button", "data-state": state });
    if (state !== "") {
      const dot = h("i", { class: "dot" });
      dot.style.background = stateVariable(state);
      chip.append(dot);
    }
    chip.append(h("span"));
    chip.addEventListener("click", () => {
      this.chosen = state;
      this.draw();
    });
    return chip;
  }
}
