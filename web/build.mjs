// Bundles each page into one HTML document and writes the documents as a C++ file.
//
//   node build.mjs OUTPUT.cpp [NODE_MODULES]
//
// A document holds its script and styles; its policy names their hashes and allows nothing else, so
// it makes no request. `{{title}}` and `{{data}}` (and `{{module}}` of the quiz) are
// left for the program to fill in.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const output = process.argv[2] ?? "report_pages.cpp";
const modules = resolve(process.argv[3] ?? join(here, "node_modules"));
const esbuild = createRequire(join(modules, "package.json"))("esbuild");

const REPORT = { template: "page", styles: ["colours", "page", "charts"] };
const PAGES = {
  run_report: REPORT,
  sweep_report: REPORT,
  // It holds a simulator as WebAssembly, which is code only under this name of the policy.
  quiz: { template: "quiz", styles: ["colours", "page", "charts", "quiz"], scripts: "'wasm-unsafe-eval'" },
};
/** Longest string literal that every compiler takes. */
const LITERAL = 8000;

function bundle(options) {
  const { outputFiles } = esbuild.buildSync({
    bundle: true,
    write: false,
    minify: true,
    charset: "ascii",
    legalComments: "none",
    target: ["es2020"],
    nodePaths: [modules],
    ...options,
  });
  return outputFiles[0].text.trim();
}

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** No text of a bundle may end the element that holds it. */
function checked(text, element) {
  if (text.toLowerCase().includes(`</${element}`) || text.includes("<!--") || text.includes("{{")) {
    throw new Error(`the bundle would end its <${element}> element, or has a place to fill in`);
  }
  return text;
}

function stylesOf(names) {
  const contents = names.map((name) => `@import "./${name}.css";`).join("\n");
  return checked(bundle({ stdin: { contents, resolveDir: join(here, "styles"), loader: "css" } }), "style");
}

function page(name) {
  const kind = PAGES[name];
  const styles = stylesOf(kind.styles);
  const script = checked(bundle({ entryPoints: [join(here, "pages", `${name}.js`)], format: "iife" }), "script");
  const policy = [
    "default-src 'none'",
    `script-src ${[hash(script), kind.scripts].filter(Boolean).join(" ")}`,
    `style-src ${hash(styles)}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const parts = { policy, styles, script };
  const template = readFileSync(join(here, "pages", `${kind.template}.html`), "utf8");
  return template.replace(/\{\{(policy|styles|script)\}\}/g, (whole, key) => parts[key]);
}

function literals(text) {
  const pieces = [];
  const bytes = Buffer.from(text, "utf8");
  for (let at = 0; at < bytes.length; at += LITERAL) {
    let piece = "";
    for (const byte of bytes.subarray(at, at + LITERAL)) {
      const plain = byte >= 32 && byte < 127 && byte !== 34 && byte !== 92 && byte !== 63;
      piece += plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
    }
    pieces.push(`    "${piece}"`);
  }
  return pieces.join("\n");
}

const functions = Object.keys(PAGES).map((name) => {
  const text = page(name);
  console.log(`${name}: ${(text.length / 1024).toFixed(1)} KiB`);
  return `std::string_view ${name}_text() {\n  static constexpr char text[] =\n${literals(text)};\n  return {text, sizeof(text) - 1};\n}`;
});
writeFileSync(
  output,
  `// Written by web/build.mjs.
#include "report/page_texts.hpp"

namespace shardsim::report {

${functions.join("\n\n")}

}  // namespace shardsim::report
`,
);
