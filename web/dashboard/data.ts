// The Status document of the controller, as /status.json has it, and the history beside it.

export type Number = number | "nan" | "inf" | "-inf";

export interface Participant {
  id: number;
  name: string;
  role: string;
  group: string;
  state: string;
  connected: boolean;
  address: string;
  incarnation: number;
  training_examples: number;
  validation_examples: number;
  version: number | null;
  staleness: number | null;
  contribution: number;
  share: number;
  updates: number;
  rejected: number;
  epochs: number;
  updates_per_minute: number;
  last_seen_s: number | null;
  cycles: Record<string, number>;
}

export interface Test {
  time_s: number;
  version: number;
  requests: number;
  accuracy: number;
  loss: Number;
}

export interface Cycle {
  time_s: number;
  learner: number;
  epochs: number;
  reason: string;
  staleness: number;
}

export interface Happening {
  time_s: number;
  text: string;
}

export interface Status {
  program: string;
  federation: string;
  policy: string;
  dataset: string;
  model: string;
  parameters: number;
  run: string;
  phase: string;
  phase_reason: string;
  stopped_by: string;
  time_s: number;
  uptime_s: number;
  part: number;
  version: number;
  committed_steps: number;
  requests: number;
  rejected: number;
  withdrawals: number;
  models_exchanged: number;
  models_evaluated: number;
  pending: number;
  requests_per_minute: number;
  best: Test | null;
  memory_bytes: number;
  model_bytes: number;
  bytes_received: number;
  bytes_sent: number;
  connected: number;
  refusals: number;
  dropped_events: number;
  participants: Participant[];
  tests: Test[];
  cycles: Cycle[];
  events: Happening[];
}

// Arrays of equal length.
export interface History {
  time_s: number[];
  requests_per_minute: number[];
  memory_bytes: number[];
  connected: number[];
  pending: number[];
}

// What the parts of the page draw from; replaced piece by piece as answers come.
export interface Seen {
  status: Status;
  history: History;
}

export const isLearner = (one: Participant) => one.role !== "observer";
export const learnersOf = (status: Status) => status.participants.filter(isLearner);

export function nameOf(status: Status, learner: number): string {
  return status.participants.find(({ id }) => id === learner)?.name ?? `learner ${learner}`;
}

// Staleness of who holds a model at present.
export function stalenesses(status: Status): number[] {
  const there = learnersOf(status).filter(({ state }) => state === "training" || state === "committing");
  return there.flatMap(({ staleness }) => (staleness === null ? [] : [staleness]));
}

export function median(values: number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
