// The head of the page: which federation it is, its phase in words, how far it is, and whether the controller is there.

import { h } from "../shared/dom";
import { count, duration, percent, plural } from "../shared/format";
import { isLearner, type Status } from "./data";
import type { Contact } from "./live";
import { large, setAttribute, setStyle, setText } from "./text";

const PHASES: Record<string, string> = {
  waiting: "Waiting for learners",
  running: "Running",
  paused: "Paused",
  finished: "Finished",
};

const sentence = (text: string) => (text === "" ? "" : text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : "."));

function what(status: Status): string {
  const number = status.participants.filter(isLearner).length;
  const learners = plural(number, "learner");
  const size = status.parameters > 0 ? ` (${large(status.parameters)} parameters)` : "";
  const data = status.dataset === "" ? "" : status.dataset === "builtin" ? " on the built-in task" : ` on ${status.dataset}`;
  const model = status.model === "" || status.model === "built-in" ? "a model" : status.model;
  const verbs: Record<string, string> = { waiting: number === 1 ? "is there to train" : "are there to train", finished: "trained" };
  const verb = verbs[status.phase] ?? (number === 1 ? "trains" : "train");
  return `${learners} ${verb} ${model}${size}${data} by ${status.policy}.`;
}

function howFar(status: Status): string {
  if (status.phase === "waiting") return "";
  const version = `Version ${count(status.version)} of the community model`;
  return `${version} after ${duration(status.time_s)} and ${plural(status.requests, "update request")}.`;
}

function why(status: Status): string {
  if (status.phase === "finished" && status.stopped_by !== "") return `Ended by: ${status.stopped_by}.`;
  return status.phase === "running" ? "" : sentence(status.phase_reason);
}

export class Banner {
  readonly element: HTMLElement;
  private readonly federation = h("span", { class: "federation" });
  private readonly dot = h("span", { class: "contact", role: "status" }, h("i"), h("span"));
  private readonly phase = h("h1", { "data-field": "phase" });
  private readonly reason = h("p", { class: "reason", "data-field": "phase_reason" });
  private readonly lead = h("p", { class: "lead" });
  private readonly fill = h("i");
  private readonly part = h("span", { "data-field": "part" });
  private readonly progress: HTMLElement;
  private readonly notice = h("p", { class: "warning", role: "alert", id: "notice" });
  private readonly dropped = h("p", { class: "warning alarm", role: "alert", id: "dropped" });
  private latest: Status | null = null;

  constructor(toggle: HTMLElement) {
    this.progress = h("div", { class: "progress" }, h("div", { class: "track" }, this.fill), this.part);
    this.element = h(
      "header",
      {},
      h("div", { class: "kicker" }, h("span", { class: "product" }, "Metis dashboard"), this.federation, this.dot, toggle),
      this.notice,
      this.dropped,
      this.phase,
      this.lead,
      this.reason,
      this.progress,
    );
    for (const part of [this.notice, this.dropped, this.reason, this.progress]) part.hidden = true;
  }

  show(status: Status): void {
    this.latest = status;
    setText(this.federation, status.federation === "" ? "" : `federation ${status.federation}`);
    setText(this.phase, this.heading("live"));
    setText(this.lead, [what(status), howFar(status)].filter((part) => part !== "").join(" "));
    const reason = why(status);
    setText(this.reason, reason);
    this.reason.hidden = reason === "";
    this.progress.hidden = !(status.part > 0) || !["running", "paused"].includes(status.phase);
    setStyle(this.fill, "width", `${(100 * Math.min(1, status.part)).toFixed(2)}%`);
    setText(this.part, `${percent(Math.min(1, status.part))} of the way to its end`);
    const lost = status.dropped_events;
    this.dropped.hidden = lost === 0;
    if (lost > 0)
      setText(this.dropped, `The controller's disk refused ${plural(lost, "event")}: look at the space in ${status.run}.`);
  }

  // How the controller is reached. A finished federation whose controller has ended is no alarm.
  contact(contact: Contact, sinceMs: number): void {
    const over = this.latest?.phase === "finished";
    const state = over && contact !== "live" ? "over" : contact;
    const words = { live: "live", starting: "starting", silent: "silent", gone: "no contact", over: "final state" };
    setAttribute(document.documentElement, "data-contact", state);
    setText(this.dot.lastElementChild!, words[state]);
    const text = this.notes(state, sinceMs);
    setText(this.notice, text);
    this.notice.hidden = text === "";
    setText(this.phase, this.heading(state));
    document.title = this.title(state);
    setAttribute(this.notice, "class", state === "gone" ? "warning alarm" : state === "over" ? "warning calm" : "warning");
  }

  // What is not known any more is not claimed.
  private heading(state: Contact | "over"): string {
    if (state === "gone") return "No contact";
    return this.latest === null ? "" : (PHASES[this.latest.phase] ?? this.latest.phase);
  }

  private title(state: Contact | "over"): string {
    const last = this.latest?.tests[this.latest.tests.length - 1];
    return [this.heading(state), last ? percent(last.accuracy) : "", "Metis"].filter((part) => part !== "").join(" · ");
  }

  private notes(state: Contact | "over", sinceMs: number): string {
    // A time of day, not a growing number: what stays the same is not read out again.
    const since = new Date(Math.round((Date.now() - sinceMs) / 1000) * 1000).toLocaleTimeString("en-GB");
    const again = this.latest?.run ? ` Started again with metis controller --run ${this.latest.run}, it goes on where it was.` : "";
    switch (state) {
      case "over":
        return "The federation has finished and its controller has ended. This is its final state.";
      case "gone":
        return this.latest === null
          ? "The controller does not answer."
          : `The controller has not answered since ${since}. Below is what it said last.${again}`;
      case "silent":
        return `The controller answers, but has said nothing new since ${since}: it may be busy, or stuck.`;
      case "starting":
        return "The controller is just starting.";
      case "live":
        return "";
    }
  }
}
