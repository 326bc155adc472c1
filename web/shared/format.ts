// Numbers as a reader wants them. Data and CSV files keep seconds and fractions; only what is shown is scaled.

export const SPACE = "\u00a0"; // a number and its unit stay on one line

export interface TimeUnit {
  name: "s" | "min" | "h";
  seconds: number;
}

const SECONDS: TimeUnit = { name: "s", seconds: 1 };
const MINUTES: TimeUnit = { name: "min", seconds: 60 };
const HOURS: TimeUnit = { name: "h", seconds: 3600 };

// The unit of a time axis that ends at `seconds`: two to about a hundred units long.
export function timeUnit(seconds: number): TimeUnit {
  if (seconds <= 2 * 60) return SECONDS;
  return seconds <= 2 * 3600 ? MINUTES : HOURS;
}

// 8.4 s, 4 min 12 s, 3 h 05 min
export function duration(seconds: number): string {
  if (seconds < 60) return `${trim(seconds, seconds < 10 ? 1 : 0)}${SPACE}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  const minutes = Math.round(whole / 60);
  return joined(Math.floor(minutes / 60), "h", minutes % 60, "min");
}

function joined(major: number, majorUnit: string, minor: number, minorUnit: string): string {
  const head = `${major}${SPACE}${majorUnit}`;
  return minor === 0 ? head : `${head}${SPACE}${String(minor).padStart(2, "0")}${SPACE}${minorUnit}`;
}

// At most `digits` decimals, without trailing zeros.
export function trim(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

// 0.8675 -> "86.8 %"
export function percent(fraction: number): string {
  return `${(100 * fraction).toFixed(1)}${SPACE}%`;
}

// 12345.6 -> "12,346"
export function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

// Three significant digits, for losses and contributions of any size.
export function significant(value: number): string {
  if (Math.abs(value) >= 1000) return count(value);
  return String(Number(value.toPrecision(3)));
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// a; a and b; a, b and c
export function list(words: string[]): string {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}
