// Which learner holds how many examples of which class. Runs that were dealt the same share one distribution.

import type { Learner, Report, Run } from "./data";

export interface Distribution {
  key: string; // what names it among the others
  learners: Learner[]; // all with class_counts
  classes: number;
}

function signature(run: Run): string {
  return JSON.stringify(run.learners.map((learner) => [learner.class_counts, learner.faulty, learner.group]));
}

export function distributions(report: Report): Distribution[] {
  const found = new Map<string, { distribution: Distribution; labels: Set<string>; seeds: Set<number> }>();
  for (const group of report.groups)
    for (const run of group.runs) {
      const classes = Math.max(0, ...run.learners.map((learner) => learner.class_counts?.length ?? 0));
      if (classes === 0 || run.learners.some((learner) => learner.class_counts === null)) continue;
      const dealt = signature(run);
      const known = found.get(dealt) ?? {
        distribution: { key: "", learners: run.learners, classes },
        labels: new Set<string>(),
        seeds: new Set<number>(),
      };
      known.labels.add(group.label);
      known.seeds.add(run.seed);
      found.set(dealt, known);
    }
  const all = report.groups.length;
  for (const { distribution, labels, seeds } of found.values()) {
    const who = labels.size === all ? "all groups" : [...labels].join("; ");
    distribution.key = `${who}, ${seeds.size === 1 ? "seed" : "seeds"} ${[...seeds].join(", ")}`;
  }
  return [...found.values()].map(({ distribution }) => distribution);
}

export function examples(learner: Learner): number {
  return (learner.class_counts ?? []).reduce((sum, n) => sum + n, 0);
}
