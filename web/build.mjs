// Bundles the report page into one HTML file without any reference to another:
//
//   node build.mjs OUTPUT.html
//
// The page has two places that `metis report` fills: METIS_REPORT_TITLE in <title>, METIS_REPORT_DATA in the
// script of type application/json. Each must be there once.

import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));

function fail(message) {
  console.error(`web: ${message}`);
  process.exit(1);
}

async function loadEsbuild() {
  try {
    return await import("esbuild");
  } catch {
    return fail(`${path.join(here, "node_modules")} lacks esbuild: scripts/setup.sh installs what the pages are built with`);
  }
}

async function bundle(esbuild, entry) {
  const options = { bundle: true, minify: true, write: false, metafile: true, absWorkingDir: here, logLevel: "error" };
  const target = { target: "es2020", format: "iife", legalComments: "none", charset: "utf8" };
  const result = await esbuild.build({ ...options, ...target, entryPoints: [entry] });
  return { text: result.outputFiles[0].text.trim(), inputs: Object.keys(result.metafile.inputs) };
}

function legalFiles(directory) {
  const names = readdirSync(directory, { withFileTypes: true }).filter(({ name }) => /^(licen[cs]e|notice|copying)/i.test(name));
  return names.flatMap((entry) =>
    entry.isFile() ? [entry.name] : readdirSync(path.join(directory, entry.name)).map((file) => path.join(entry.name, file)),
  );
}

// Licences and notices of the packages that went in, as their authors wrote them.
function licences(inputs) {
  const packages = new Set(inputs.map((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1]).filter(Boolean));
  const texts = [...packages].sort().map((name) => {
    const directory = path.join(here, "node_modules", name);
    const files = legalFiles(directory);
    if (!files.some((file) => /^(licen[cs]e|copying)/i.test(file))) fail(`${name} is bundled but has no licence file`);
    const { version } = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"));
    return [`${name} ${version}`, ...files.map((file) => readFileSync(path.join(directory, file), "utf8").trim())].join("\n\n");
  });
  const text = texts.join(`\n\n${"-".repeat(80)}\n\n`).replace(/\*\//g, "* /").replace(/<\/script/gi, "<\\/script");
  return `/*! This page contains these libraries:\n\n${text}\n*/\n`;
}

function fillOnce(page, place, text) {
  if (page.split(place).length !== 2) fail(`${place} must be in page.html once`);
  return page.split(place).join(text);
}

function check(page, style) {
  for (const marker of ["METIS_REPORT_DATA", "METIS_REPORT_TITLE"])
    if (page.split(marker).length !== 2) fail(`${marker} is ${page.split(marker).length - 1} times in the page, not once`);
  const outside = /<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?!data:)[^"]*"/i.exec(page) ?? /@import|url\(/.exec(style);
  if (outside) fail(`the page refers to another file: ${outside[0]}`);
}

const output = process.argv[2];
if (!output || process.argv.length > 3) fail("usage: node build.mjs OUTPUT.html");
if (!existsSync(path.join(here, "node_modules"))) fail("web/node_modules is missing: scripts/setup.sh installs it");
const esbuild = await loadEsbuild();
const script = await bundle(esbuild, "report/main.ts");
const style = await bundle(esbuild, "report/style.css");
const html = readFileSync(path.join(here, "report/page.html"), "utf8");
const styled = fillOnce(html, "/* STYLE */", style.text);
const page = fillOnce(styled, "/* SCRIPT */", licences(script.inputs) + script.text);
check(page, style.text);
// A file appears whole or not at all.
mkdirSync(path.dirname(path.resolve(output)), { recursive: true });
writeFileSync(`${output}.part`, page);
renameSync(`${output}.part`, output);
