// Bundles a page, a directory beside this file, into one HTML file without any reference to another:
//
//   node build.mjs report|dashboard OUTPUT.html
//
// The report has two places that `metis report` fills: METIS_REPORT_TITLE in <title>, METIS_REPORT_DATA in the
// script of type application/json. Each must be there once. The dashboard names in its policy the scripts that it may
// run, by their SHA-256.

import { createHash } from "node:crypto";
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

// The scripts of a page as its Content-Security-Policy names them: as a browser reads them, with plain line ends.
function scriptHashes(page) {
  const scripts = [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, text]) => text.replace(/\r\n?/g, "\n"));
  return scripts.map((text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`).join(" ");
}

function check(page, style, markers) {
  for (const marker of markers)
    if (page.split(marker).length !== 2) fail(`${marker} is ${page.split(marker).length - 1} times in the page, not once`);
  const outside = /<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(?!data:)[^"]*"/i.exec(page) ?? /@import|url\(/.exec(style);
  if (outside) fail(`the page refers to another file: ${outside[0]}`);
}

const MARKERS = { report: ["METIS_REPORT_DATA", "METIS_REPORT_TITLE"], dashboard: [] };

const [name, output] = process.argv.slice(2);
if (!MARKERS[name] || !output || process.argv.length > 4) fail("usage: node build.mjs report|dashboard OUTPUT.html");
if (!existsSync(path.join(here, "node_modules"))) fail("web/node_modules is missing: scripts/setup.sh installs it");
const esbuild = await loadEsbuild();
const script = await bundle(esbuild, `${name}/main.ts`);
const style = await bundle(esbuild, `${name}/style.css`);
const html = readFileSync(path.join(here, `${name}/page.html`), "utf8");
const styled = fillOnce(html, "/* STYLE */", style.text);
const scripted = fillOnce(styled, "/* SCRIPT */", licences(script.inputs) + script.text);
const page = scripted.includes("SCRIPT_HASHES") ? fillOnce(scripted, "SCRIPT_HASHES", scriptHashes(scripted)) : scripted;
check(page, style.text, MARKERS[name]);
// A file appears whole or not at all.
mkdirSync(path.dirname(path.resolve(output)), { recursive: true });
writeFileSync(`${output}.part`, page);
renameSync(`${output}.part`, output);
