// The report page: reads its data, builds header, table and figures, and follows theme, width and printer.

import { h } from "../shared/dom";
import { Figure, type FigureSpec, redrawAll } from "../shared/figure";
import { currentMode, type Mode, setMode } from "../shared/theme";
import { themeToggle } from "../shared/theme_toggle";
import { classAccuracy } from "./class_accuracy";
import { contributions } from "./contributions";
import { convergence } from "./convergence";
import { cyclesFigure } from "./cycles";
import { readReport, type Report } from "./data";
import { distributionFigure } from "./distribution";
import { distributions } from "./distributions";
import { federation } from "./federation";
import { stalenessFigure } from "./staleness";
import { header } from "./summary";
import { resultsTable } from "./table";

const PAPER_WIDTH = 690; // CSS pixels between the margins of A4

// Paper is white and has a width of its own.
function followPrinter(): void {
  let before: Mode = "light";
  addEventListener("beforeprint", () => {
    before = currentMode();
    setMode("light");
    redrawAll(PAPER_WIDTH);
  });
  addEventListener("afterprint", () => {
    setMode(before);
    redrawAll();
  });
}

// Figures in reading order, or the sentence that stands in for one without data.
function parts(report: Report): (FigureSpec | string)[] {
  const dealt = distributions(report);
  return [
    convergence(report, dealt[0] ?? null) ?? "No run tested its community model: there is no convergence to show.",
    distributionFigure(dealt) ?? "The runs do not say how their data was dealt: the data distribution is left out.",
    classAccuracy(report) ?? "No test recorded the accuracy of single classes: this chart is left out.",
    contributions(report) ?? "No update was committed: there are no contributions to show.",
    cyclesFigure(report) ??
      "No learner recorded validation losses (only the adaptive trigger does): validation cycles are left out.",
    stalenessFigure(report) ?? "No update was committed: there is no staleness to show.",
    federation(report) ?? "There is no federation among the runs: requests and models are left out.",
  ];
}

function build(report: Report, page: HTMLElement): void {
  page.append(header(report, themeToggle()), resultsTable(report));
  const figures: Figure[] = [];
  for (const part of parts(report)) {
    if (typeof part === "string") {
      page.append(h("p", { class: "absent" }, part));
      continue;
    }
    const figure = new Figure(part, figures.length + 1);
    figures.push(figure);
    page.append(figure.element);
  }
  page.append(h("footer", {}, `Made by ${report.program} from its recorded runs. This file needs no network.`));
  for (const figure of figures) figure.start();
  followPrinter();
}

function start(): void {
  const page = document.querySelector("main")!;
  const text = document.getElementById("metis-data")?.textContent ?? "";
  let report: Report;
  try {
    report = readReport(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    page.append(h("p", { class: "warning" }, `This page holds no data (${why}): write it anew with metis report.`));
    return;
  }
  build(report, page);
}

start();
