// Builds the page without data: one file with its program, its style, and a policy that permits
// nothing else (Content Security Policy Level 3). `node build.mjs FILE` writes it elsewhere.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { build } from "esbuild";

const folder = new URL(".", import.meta.url).pathname;
const common = { bundle: true, minify: true, write: false, legalComments: "none", target: "es2022" };
const text = async (entry, options = {}) => {
  const built = await build({ ...common, entryPoints: [`${folder}src/${entry}`], ...options });
  return built.outputFiles[0].text.trim();
};
const hash = (part) => `'sha256-${createHash("sha256").update(part).digest("base64")}'`;

const program = await text("main.ts", { format: "iife", charset: "ascii" });
const style = await text("style.css");
if (/<\/script|<!--/i.test(program) || /<\/style/i.test(style)) {
  throw new Error("a part of the page would end its element");
}
const policy = [
  "default-src 'none'",
  `script-src ${hash(program)}`,
  `style-src ${hash(style)}`,
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const licence = (await readFile(`${folder}node_modules/d3-array/LICENSE`, "utf8")).trim();
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>linerate report</title>
<!-- The program has parts of d3-array 3.2.4:
${licence.replaceAll("--", "- -")}
-->
<style>${style}</style>
</head>
<body>
<noscript><p>This report draws its charts by JavaScript: open it in a browser that runs it.</p></noscript>
<div id="report"></div>
<script type="application/json" id="data"><!--data--></script>
<script>${program}</script>
</body>
</html>
`;
const target = process.argv[2] ?? `${folder}../crates/report/src/html/shell.html`;
await writeFile(target, page);
console.log(`${target}: ${page.length} bytes`);
