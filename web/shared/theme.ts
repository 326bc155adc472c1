// Colours for charts, read from the CSS variables of theme.css: one place says what the page looks like.

export interface Theme {
  ink: string;
  muted: string;
  rule: string;
  surface: string;
  raised: string;
  alarm: string;
  series: string[]; // of groups of runs
  devices: string[]; // of groups of devices
  amounts: string[]; // of bars that stand beside each other
}

export type Mode = "light" | "dark";

export function currentMode(): Mode {
  return document.documentElement.dataset.theme === "dark" ? "dark" : "light";
}

export function setMode(mode: Mode): void {
  document.documentElement.dataset.theme = mode;
}

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const one = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const many = (name: string, n: number) => Array.from({ length: n }, (_, i) => one(`${name}-${i + 1}`));
  return {
    ink: one("ink"),
    muted: one("muted"),
    rule: one("rule"),
    surface: one("surface"),
    raised: one("raised"),
    alarm: one("alarm"),
    series: many("series", SERIES),
    devices: many("device", 5),
    amounts: many("amount", 3),
  };
}

// How the n-th of many is drawn: colours first, then the same colours dashed, then dotted.
export interface Stroke {
  colour: string;
  dash: "solid" | "dashed" | "dotted";
}

const SERIES = 7;
const DASHES = ["solid", "dashed", "dotted"] as const;

export function seriesStroke(theme: Theme, index: number): Stroke {
  return { colour: theme.series[index % SERIES], dash: DASHES[Math.floor(index / SERIES) % 3] };
}

// For elements of the page, which follow a change of the theme by themselves.
export function seriesVariable(index: number): Stroke {
  return { colour: `var(--series-${(index % SERIES) + 1})`, dash: DASHES[Math.floor(index / SERIES) % 3] };
}

// Colours of an ordered scale (viridis, without its darkest and lightest ends), 0 <= share <= 1.
// It grows evenly in lightness: in order for the colour-blind and on grey paper, too.
const SCALE = ["#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#ecdf2a"];

export function scaleColour(share: number): string {
  const place = Math.min(Math.max(share, 0), 1) * (SCALE.length - 1);
  const i = Math.min(Math.floor(place), SCALE.length - 2);
  const mix = (from: number, to: number) => Math.round(from + (place - i) * (to - from));
  const channels = [1, 3, 5].map((at) =>
    mix(parseInt(SCALE[i].slice(at, at + 2), 16), parseInt(SCALE[i + 1].slice(at, at + 2), 16)),
  );
  return `#${channels.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
}

// The n-th of `total` on the scale.
export function scaleStep(n: number, total: number): string {
  return scaleColour(total < 2 ? 0.4 : n / (total - 1));
}
