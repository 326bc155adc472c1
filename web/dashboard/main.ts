// The dashboard: asks the controller once a second, and shows what it says.

import { h } from "../shared/dom";
import { Figure } from "../shared/figure";
import { themeToggle } from "../shared/theme_toggle";
import { Banner } from "./banner";
import { convergence } from "./convergence";
import { memory, updateRate } from "./costs";
import type { History, Seen, Status } from "./data";
import { Events } from "./events";
import { Learners } from "./learners";
import { type Contact, Live } from "./live";
import { staleness, validationCycles } from "./recent_cycles";
import { Tiles } from "./tiles";

// A figure that is drawn again only when what it draws has changed.
class LiveFigure {
  readonly figure: Figure;
  private readonly key: () => unknown;
  private drawn = "";

  constructor(figure: Figure, key: () => unknown) {
    this.figure = figure;
    this.key = key;
  }

  show(): void {
    const key = JSON.stringify(this.key());
    if (key === this.drawn) return;
    this.drawn = key;
    this.figure.redraw();
  }
}

const NO_HISTORY: History = { time_s: [], requests_per_minute: [], memory_bytes: [], connected: [], pending: [] };

class Dashboard {
  private readonly page: HTMLElement;
  private readonly banner = new Banner(themeToggle());
  private readonly tiles = new Tiles();
  private readonly learners = new Learners();
  private readonly events = new Events();
  private readonly footer = h("footer");
  private seen: Seen | null = null;
  private history = NO_HISTORY;
  private figures: LiveFigure[] = [];

  constructor(page: HTMLElement) {
    this.page = page;
    page.append(this.banner.element);
  }

  status(status: Status): void {
    if (this.seen === null) {
      this.seen = { status, history: this.history };
      this.build(this.seen);
    }
    this.seen.status = status;
    this.banner.show(status);
    this.tiles.show(status);
    this.learners.show(status);
    this.events.show(status.events);
    this.draw();
    this.footer.textContent = `${status.program}, run directory ${status.run}. This page only shows; metis status, pause, resume, withdraw and stop act.`;
  }

  past(history: History): void {
    this.history = history;
    if (this.seen === null) return;
    this.seen.history = history;
    this.draw();
  }

  contact(contact: Contact, sinceMs: number): void {
    this.banner.contact(contact, sinceMs);
  }

  // One at a time: between two charts the page answers its reader.
  private draw(): void {
    for (const figure of this.figures) setTimeout(() => figure.show());
  }

  private build(seen: Seen): void {
    const live = (figure: Figure, key: () => unknown) => {
      this.figures.push(new LiveFigure(figure, key));
      return figure;
    };
    const last = <T>(values: T[]) => [values.length, values[values.length - 1]];
    const learning = live(new Figure(convergence(seen), null), () => last(seen.status.tests));
    const stale = live(new Figure(staleness(seen), null), () => last(seen.status.cycles));
    const cycles = live(new Figure(validationCycles(seen), null), () => last(seen.status.cycles));
    const rates = live(new Figure(updateRate(seen), null), () => [seen.history.time_s.length, seen.status.uptime_s]);
    const costs = live(new Figure(memory(seen), null), () => [seen.history.time_s.length, seen.status.uptime_s]);
    this.page.append(
      this.tiles.element,
      h("div", { class: "wide-narrow" }, learning.element, this.events.element),
      this.learners.element,
      h("div", { class: "pair" }, stale.element, cycles.element),
      h("div", { class: "pair" }, rates.element, costs.element),
      this.footer,
    );
    for (const { figure } of this.figures) figure.start();
  }
}

const dashboard = new Dashboard(document.querySelector("main")!);
void new Live({
  status: (status) => dashboard.status(status),
  history: (history) => dashboard.past(history),
  contact: (contact, sinceMs) => dashboard.contact(contact, sinceMs),
}).run();
