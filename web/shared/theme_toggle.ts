// The button that changes between light and dark; without it, the page follows the reader's system.

import { h } from "./dom";
import { redrawAll } from "./figure";
import { currentMode, type Mode, setMode } from "./theme";

export function themeToggle(): HTMLButtonElement {
  const button = h("button", { type: "button", id: "theme", class: "quiet" });
  const label = () => (button.textContent = currentMode() === "dark" ? "Light" : "Dark");
  label();
  const change = (mode: Mode) => {
    setMode(mode);
    label();
    redrawAll();
  };
  button.addEventListener("click", () => change(currentMode() === "dark" ? "light" : "dark"));
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", () => change(system.matches ? "dark" : "light"));
  return button;
}
