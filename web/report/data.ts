// The data of a report as `metis report` writes it into the page, and questions that several parts ask of it.

export interface Tests {
  t_s: number[];
  requests: number[];
  accuracy: number[];
  loss: (number | null)[];
  class_accuracy: (number | null)[][]; // recall of each class; null: the class has no test example
  thinned?: number; // of a long run, every n-th test
}

export interface Learner {
  learner: number;
  name: string;
  group: string; // of devices
  training_examples: number;
  validation_examples: number;
  class_counts: number[] | null;
  faulty: string | null;
  updates: number;
  epochs: number;
  median_staleness: number | null;
}

export interface Updates {
  t_s: number[];
  learner: number[];
  contribution: (number | null)[]; // null: not finite
  staleness: number[];
  epochs: number[];
  reason: string[];
  thinned?: number; // of a long run, every n-th update
}

export interface Cycle {
  end_s: number;
  losses: (number | null)[];
  failures: number;
  reason: string;
  staleness: number;
}

export interface LearnerCycles {
  learner: number;
  group: string;
  cycles: Cycle[];
}

export interface Staleness {
  group: string;
  values: number[];
  median: number | null;
  mean: number | null;
  deviation: number | null;
}

export interface Run {
  directory: string;
  seed: number;
  complete: boolean;
  stopped_by: string | null;
  length_s: number;
  requests: number;
  rejected: number;
  models_exchanged: number;
  models_for_evaluation: number;
  bytes_sent: number | null;
  final_accuracy: number | null;
  best_accuracy: number | null;
  time_to_accuracy_s: (number | null)[];
  requests_to_accuracy: (number | null)[];
  tests: Tests;
  learners: Learner[];
  updates: Updates;
  cycles: LearnerCycles[];
  staleness: Staleness[];
}

// Runs that differ only in their seed.
export interface Group {
  label: string; // unique
  policy: string;
  settings: Record<string, string>;
  runs: Run[];
}

export interface Report {
  title: string;
  program: string;
  target_accuracies: number[];
  groups: Group[];
}

export function readReport(text: string): Report {
  const report = JSON.parse(text) as Report;
  if (!Array.isArray(report.groups) || report.groups.length === 0) throw new Error("no groups of runs");
  return report;
}

// The runs that curves are averaged over: an interrupted one would cut short what the others have measured.
export function curveRuns(group: Group): Run[] {
  const complete = group.runs.filter((run) => run.complete);
  return complete.length > 0 ? complete : group.runs;
}

// One model trained on all data by `metis train`: no learners, no requests, and times of the machine.
export function isCentralised(group: Group): boolean {
  return group.policy === "centralised";
}

// Groups of devices in the order of their first learner, over all runs: the same place, the same colour.
export function deviceGroups(report: Report): string[] {
  const names = new Set<string>();
  for (const group of report.groups)
    for (const run of group.runs) for (const learner of run.learners) names.add(learner.group);
  return [...names];
}

// A sentence for readers of a chart that does not draw everything; empty where it does.
export function thinningNote(report: Report, of: (run: Run) => { thinned?: number }, what: string): string {
  const thinned = report.groups.some((group) => group.runs.some((run) => (of(run).thinned ?? 1) > 1));
  return thinned ? ` Long runs have too many ${what} for a page: every few are drawn, evenly chosen.` : "";
}

export function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
