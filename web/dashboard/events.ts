// What happened, the newest first. Lines that are already there stay where the reader is.

import { h } from "../shared/dom";
import { duration } from "../shared/format";
import type { Happening } from "./data";

const key = (event: Happening) => `${event.time_s} ${event.text}`;

export class Events {
  readonly element: HTMLElement;
  private readonly list = h("ol", { class: "events", tabindex: "0", "aria-label": "Events" });
  private readonly empty = h("p", { class: "empty" }, "Nothing has happened yet.");
  private shown: string[] = []; // the oldest first

  constructor() {
    this.element = h("section", { id: "events", class: "figure" }, h("h3", {}, "What happened"), this.empty, this.list);
  }

  show(events: Happening[]): void {
    this.empty.hidden = events.length > 0;
    this.list.hidden = events.length === 0;
    const keys = events.map(key);
    // The old ones that went off the end of the list, then the new ones that came.
    const dropped = this.shown.findIndex((_, i) => this.shown.slice(i).every((k, j) => k === keys[j]));
    const kept = dropped < 0 ? 0 : this.shown.length - dropped;
    while (this.list.childElementCount > kept) this.list.lastElementChild!.remove();
    const scrolled = this.list.scrollTop;
    const before = this.list.scrollHeight;
    for (const event of events.slice(kept))
      this.list.prepend(h("li", {}, h("time", {}, duration(event.time_s)), h("span", {}, event.text)));
    if (scrolled > 0) this.list.scrollTop = scrolled + this.list.scrollHeight - before;
    this.shown = keys;
  }
}
