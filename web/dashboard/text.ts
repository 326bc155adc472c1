// Text that changes in place: only what is different is written, so that nothing flickers and a selection stays.

import { SPACE, trim } from "../shared/format";

export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

export function setStyle(element: HTMLElement | SVGElement, name: string, value: string): void {
  if (element.style.getPropertyValue(name) !== value) element.style.setProperty(name, value);
}

// 1234567 -> "1.23 MB"
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let i = 0;
  let scaled = value;
  while (scaled >= 999.5 && i + 1 < units.length) {
    scaled /= 1000;
    i += 1;
  }
  return `${i === 0 ? scaled : Number(scaled.toPrecision(3))}${SPACE}${units[i]}`;
}

// 1663370 -> "1.66 million"
export function large(value: number): string {
  if (value >= 1e9) return `${Number((value / 1e9).toPrecision(3))} billion`;
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))} million`;
  return Math.round(value).toLocaleString("en-US");
}

// 0.25 -> "0.25", 12.34 -> "12.3", 123.4 -> "123"
export function rate(value: number): string {
  return trim(value, value < 1 ? 2 : value < 100 ? 1 : 0);
}
