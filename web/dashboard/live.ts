// Asks the controller for its status, again and again, and knows how well that goes. Plain requests, one after the
// other: they survive restarts, tunnels and sleeping machines without any state to repair.

import type { History, Status } from "./data";

const INTERVAL_MS = 1000;
const HIDDEN_MS = 15_000; // nobody looks
const HISTORY_MS = 5000;
const GONE_MS = 3000; // one lost answer is no news
const SILENT_MS = 15_000;
const TIMEOUT_MS = 8000;

// live: answers come, and are new. starting: it has no status yet. silent: answers come, but they are old.
// gone: none come.
export type Contact = "live" | "starting" | "silent" | "gone";

export interface Listener {
  status: (status: Status) => void;
  history: (history: History) => void;
  contact: (contact: Contact, sinceMs: number) => void; // and for how long
}

export class Live {
  private readonly listener: Listener;
  private tag = "";
  private answered = Date.now();
  private changed = Date.now();
  private starting = false;
  private history = 0; // when it came last
  private wake: (() => void) | null = null;

  constructor(listener: Listener) {
    this.listener = listener;
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) this.wake?.();
    });
  }

  async run(): Promise<never> {
    for (;;) {
      await this.ask();
      this.tell();
      await this.pause(document.hidden ? HIDDEN_MS : INTERVAL_MS);
    }
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private async ask(): Promise<void> {
    try {
      const response = await get("status.json", this.tag === "" ? {} : { "If-None-Match": this.tag });
      this.answered = Date.now();
      this.starting = response.status === 503;
      if (response.status === 200) {
        const status: Status = await response.json();
        this.tag = response.headers.get("ETag") ?? "";
        this.changed = Date.now();
        this.listener.status(status);
      }
      if (Date.now() - this.history >= HISTORY_MS) {
        const past = await get("history.json", {});
        if (past.ok) this.listener.history(await past.json());
        this.history = Date.now();
      }
      this.answered = Date.now(); // it was this page that took its time
    } catch {
      this.tag = ""; // the next controller may be another one
    }
  }

  private tell(): void {
    const now = Date.now();
    if (now - this.answered >= GONE_MS) this.listener.contact("gone", now - this.answered);
    else if (this.starting) this.listener.contact("starting", now - this.changed);
    else if (now - this.changed >= SILENT_MS) this.listener.contact("silent", now - this.changed);
    else this.listener.contact("live", now - this.changed);
  }
}

async function get(path: string, headers: Record<string, string>): Promise<Response> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), TIMEOUT_MS);
  try {
    return await fetch(path, { headers, cache: "no-store", signal: patience.signal });
  } finally {
    clearTimeout(timer);
  }
}
