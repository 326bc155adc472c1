// The figures that an operator looks at first, each with a line below that puts it into proportion.

import { h } from "../shared/dom";
import { count, percent, plural, significant, SPACE } from "../shared/format";
import { isLearner, learnersOf, median, stalenesses, type Status } from "./data";
import { stateNames, statePlace, stateVariable } from "./states";
import { bytes, rate, setAttribute, setStyle, setText } from "./text";

interface Tile {
  field: string;
  label: string;
  value: (status: Status) => string;
  note: (status: Status) => string;
}

function accuracy(status: Status): string {
  const last = status.tests[status.tests.length - 1];
  return last ? percent(last.accuracy) : "–";
}

function best(status: Status): string {
  if (status.best === null) return "not tested yet";
  return `best ${percent(status.best.accuracy)}, version ${count(status.best.version)}`;
}

function waiting(status: Status): string {
  const notes = [`${rate(status.requests_per_minute)} a minute`];
  if (status.pending > 0) notes.push(`${count(status.pending)} waiting`);
  if (status.rejected > 0) notes.push(`${count(status.rejected)} refused`);
  return notes.join(", ");
}

function stale(status: Status): string {
  const middle = median(stalenesses(status));
  return middle === null ? "–" : significant(middle);
}

function models(status: Status): string {
  const held = status.model_bytes > 0 ? status.memory_bytes / status.model_bytes : 0;
  return held >= 1 && held < 10_000 ? `as much as ${plural(Math.round(held), "model")}` : "of the controller";
}

const TILES: Tile[] = [
  { field: "accuracy", label: "Accuracy", value: accuracy, note: best },
  { field: "requests", label: "Update requests", value: (s) => count(s.requests), note: waiting },
  {
    field: "learners",
    label: "Learners connected",
    value: (s) => count(learnersOf(s).filter((one) => one.connected).length),
    note: (s) => `of ${count(learnersOf(s).length)}${observers(s)}`,
  },
  { field: "staleness", label: "Median staleness", value: stale, note: () => "steps behind the community" },
  { field: "memory", label: "Memory", value: (s) => bytes(s.memory_bytes), note: models },
  {
    field: "traffic",
    label: "Received",
    value: (s) => bytes(s.bytes_received),
    note: (s) => `${bytes(s.bytes_sent)} sent`,
  },
];

function observers(status: Status): string {
  const there = status.participants.filter((one) => !isLearner(one) && one.connected).length;
  return there > 0 ? `, ${plural(there, "observer")}` : "";
}

export class Tiles {
  readonly element = h("section", { class: "tiles", "aria-label": "Key figures" });
  private readonly parts = TILES.map((tile) => {
    const value = h("strong", { "data-field": tile.field }, "–");
    const note = h("small", { "data-field": `${tile.field}-note` }, SPACE);
    this.element.append(h("div", { class: "tile" }, h("span", {}, tile.label), value, note));
    return { tile, value, note };
  });

  show(status: Status): void {
    for (const { tile, value, note } of this.parts) {
      setText(value, tile.value(status));
      setText(note, tile.note(status));
    }
  }
}

// One bar of all learners by state, however many they are.
export class StateBar {
  readonly element = h("div", { class: "state-bar", role: "img" });
  private readonly segments = new Map<string, HTMLElement>();

  show(status: Status): void {
    const learners = learnersOf(status);
    const said: string[] = [];
    for (const state of stateNames(learners.map((one) => one.state))) {
      let segment = this.segments.get(state);
      if (segment === undefined) {
        segment = h("i");
        segment.style.background = stateVariable(state);
        segment.style.order = String(statePlace(state));
        this.segments.set(state, segment);
        this.element.append(segment);
      }
      const number = learners.filter((one) => one.state === state).length;
      segment.hidden = false;
      setStyle(segment, "flex-grow", String(number));
      if (number > 0) said.push(`${count(number)} ${state}`);
    }
    for (const [state, segment] of this.segments)
      if (!learners.some((one) => one.state === state)) segment.hidden = true;
    this.element.hidden = learners.length === 0 || status.phase === "finished"; // then nobody does anything any more
    setAttribute(this.element, "aria-label", said.join(", "));
    setAttribute(this.element, "title", said.join(", "));
  }
}
