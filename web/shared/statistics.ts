// Means over seeds, of numbers and of curves.

export function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// The sample deviation (n - 1); NaN for fewer than two values.
export function deviation(values: number[]): number {
  if (values.length < 2) return NaN;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, v) => sum + (v - centre) ** 2, 0) / (values.length - 1));
}

// Points with ascending x; equal x may repeat, then the last one counts.
export interface Curve {
  x: number[];
  y: number[];
}

export interface Band {
  x: number[];
  mean: number[];
  low: number[];
  high: number[];
}

// The index of the last point at or before x, -1 before the first.
export function lastAt(xs: number[], x: number): number {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// Linear between points; null outside of them.
export function valueAt(curve: Curve, x: number): number | null {
  const i = lastAt(curve.x, x);
  if (i < 0) return null;
  if (curve.x[i] === x) return curve.y[i];
  if (i + 1 === curve.x.length) return null;
  const share = (x - curve.x[i]) / (curve.x[i + 1] - curve.x[i]);
  return curve.y[i] + share * (curve.y[i + 1] - curve.y[i]);
}

// Mean, lowest and highest of several curves at the points of the first one, as far as all of them reach.
// Tests of different seeds end a few milliseconds apart: the gaps are too small to be worth a second look, so
// a first or last point that another curve misses by less than a hundredth of its length is taken from its end.
export function band(curves: Curve[]): Band {
  const result: Band = { x: [], mean: [], low: [], high: [] };
  const [first, ...others] = curves.filter((curve) => curve.x.length > 0);
  if (first === undefined) return result;
  first.x.forEach((x, i) => {
    if (first.x[i + 1] === x) return;
    const values = [first.y[i]];
    for (const other of others) {
      const value = valueAt(other, x) ?? endNear(other, x);
      if (value === null) return;
      values.push(value);
    }
    result.x.push(x);
    result.mean.push(mean(values));
    result.low.push(Math.min(...values));
    result.high.push(Math.max(...values));
  });
  return result;
}

function endNear(curve: Curve, x: number): number | null {
  const last = curve.x.length - 1;
  const slack = (curve.x[last] - curve.x[0]) / 100;
  if (x < curve.x[0] && curve.x[0] - x <= slack) return curve.y[0];
  if (x > curve.x[last] && x - curve.x[last] <= slack) return curve.y[last];
  return null;
}

export interface Bin {
  from: number;
  to: number;
  count: number;
}

// Equal bins of a round width (1, 2 or 5 times a power of ten) over [0, highest], at most `most` of them.
export function binEdges(highest: number, most: number): number[] {
  const least = Math.max(highest, 1) / most;
  const power = 10 ** Math.floor(Math.log10(least));
  const width = [1, 2, 5, 10].map((factor) => factor * power).find((w) => w >= least) ?? 10 * power;
  const edges = [0];
  while (edges[edges.length - 1] <= highest) edges.push(edges.length * width);
  return edges;
}

// A value on an edge belongs to the bin that begins there.
export function histogram(values: number[], edges: number[]): Bin[] {
  const bins = edges.slice(1).map((to, i) => ({ from: edges[i], to, count: 0 }));
  for (const value of values) {
    const i = lastAt(edges, value);
    if (i >= 0 && i < bins.length) bins[i].count += 1;
  }
  return bins;
}
