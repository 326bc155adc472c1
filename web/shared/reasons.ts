// Why validation cycles end: in words, and as marks that are the same in every chart; shape and colour both tell.

import type { Theme } from "./theme";

const REASONS: Record<string, string> = {
  C1: "C1: the loss did not fall",
  C2: "C2: the loss fell too little",
  C3: "C3: staler than usual",
  "max-epochs": "the most epochs allowed",
  epochs: "a fixed number of epochs",
};
const MARKS = ["circle", "triangle", "diamond", "square"] as const;

export const reasonName = (reason: string) => REASONS[reason] ?? reason;

export function reasonMark(reason: string, theme: Theme) {
  const place = Math.max(0, Object.keys(REASONS).indexOf(reason));
  return { symbol: MARKS[place % MARKS.length], colour: [1, 4, 0, 3, 6].map((i) => theme.series[i])[place] };
}

// In the order of the paper.
export function sortedReasons(reasons: Iterable<string>): string[] {
  const known = Object.keys(REASONS);
  return [...new Set(reasons)].sort((a, b) => known.indexOf(a) - known.indexOf(b));
}
