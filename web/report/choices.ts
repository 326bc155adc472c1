// The choice of one run among all groups and seeds that have what a chart shows.

import type { Choice } from "../shared/figure";
import type { Group, Report, Run } from "./data";

export interface ChosenRun {
  key: string;
  group: Group;
  run: Run;
}

export function runsWith(report: Report, has: (run: Run) => boolean): ChosenRun[] {
  return report.groups.flatMap((group) =>
    group.runs.filter(has).map((run) => ({ key: `${group.label}, seed ${run.seed}`, group, run })),
  );
}

// Under headings by group where groups have several seeds.
export function runChoices(runs: ChosenRun[], first?: ChosenRun): { label: string; options: Choice[]; first?: string } {
  const several = new Set(runs.map((chosen) => chosen.group)).size < runs.length;
  const options = runs.map(({ key, group, run }) => ({
    value: key,
    label: several ? `${group.label}, seed ${run.seed}` : group.label,
    section: several ? group.label : undefined,
  }));
  return { label: "Run", options, first: first?.key };
}

export function chosen(runs: ChosenRun[], key: string): ChosenRun {
  return runs.find((candidate) => candidate.key === key) ?? runs[0];
}

// A run that weighs learners by validation says more about contributions and cycles than one that does not.
export function preferred(runs: ChosenRun[], policies: string[]): ChosenRun | undefined {
  for (const policy of policies) {
    const found = runs.find((candidate) => candidate.group.policy === policy);
    if (found) return found;
  }
  return runs[0];
}
