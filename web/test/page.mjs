// Opens reports in a browser: `node test/page.mjs FOLDER`, with NAME.html files made by
// `cargo xtask web`, and pictures written beside them. A page must draw its marks without an error,
// a request, or a fault that axe-core finds; be readable at 375 px; and open fast.

import { readFile, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = process.argv[2];
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
// The first page of a browser waits for its processes.
await (await browser.newPage()).close();
const failures = [];
const check = (name, holds, text) => {
  if (!holds) failures.push(`${name}: ${text}`);
};

/** A page with what it said and asked for; the policy stays, so scripts of the test are evaluated. */
async function open(name, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const requests = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") failures.push(`${name}: console: ${message.text()}`);
  });
  page.on("pageerror", (error) => failures.push(`${name}: ${error.stack}`));
  page.on("dialog", (dialog) => failures.push(`${name}: a dialog: ${dialog.message()}`));
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(pathToFileURL(`${folder}/${name}.html`).href);
  await page.waitForSelector("footer");
  check(name, requests.length === 1, `it asks for ${requests.slice(1).join(", ")}`);
  return { context, page };
}

async function accessible(name, page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  for (const one of violations) {
    failures.push(`${name}: axe: ${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
  }
}

const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
const marks = () => ({
  stamps: document.querySelectorAll(".overview .stamp").length,
  tests: document.querySelectorAll("section.test[id]").length,
  charts: document.querySelectorAll("svg.chart").length,
  points: [...document.querySelectorAll("[data-points]")].reduce((sum, one) => sum + Number(one.dataset.points), 0),
  circles: document.querySelectorAll(".marks circle").length,
  ribbons: document.querySelectorAll(".ribbon").length,
  strips: document.querySelectorAll(".strip rect:not(.track)").length,
  frames: [...document.querySelectorAll(".flame")].reduce((sum, one) => sum + Number(one.dataset.frames), 0),
  intervals: document.querySelectorAll(".intervals circle").length,
  commands: document.querySelectorAll(".repeat code").length,
  images: document.querySelectorAll("img").length,
});

/** What a report must have drawn, by its name: at least so many of each. */
const expected = JSON.parse(await readFile(`${folder}/expected.json`, "utf8"));

/** Opens every table; each figure must have one with rows. */
async function tables(name, page) {
  const empty = await page.evaluate(async () => {
    const all = [...document.querySelectorAll("figure")];
    for (const figure of all) figure.querySelector("details").open = true;
    await new Promise((done) => setTimeout(done, 100));
    return all.filter((figure) => !figure.querySelector("tbody tr")).map((figure) => figure.querySelector("strong").textContent);
  });
  check(name, empty.length === 0, `no data beside ${empty.join(", ")}`);
}

/** Arrow keys move over the values of a chart, and tell them. */
async function keyboard(name, page) {
  const chart = page.locator("svg.chart").first();
  if ((await chart.count()) === 0) return;
  await chart.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  const told = await page.locator(".readout").first().textContent();
  check(name, /\d/.test(told), "arrow keys tell no value");
}

for (const file of (await readdir(folder)).filter((one) => one.endsWith(".html")).sort()) {
  const name = file.replace(/\.html$/, "");
  const start = performance.now();
  const { context, page } = await open(name, { viewport: { width: 1240, height: 900 } });
  const opened = performance.now() - start;
  check(name, opened <= (name === "long" ? 2000 : 4000), `it opens in ${Math.round(opened)} ms`);
  const drawn = await page.evaluate(marks);
  console.log(`${name}: opened in ${Math.round(opened)} ms, ${JSON.stringify(drawn)}`);
  for (const [mark, least] of Object.entries(expected[name] ?? {})) {
    check(name, drawn[mark] >= least, `${drawn[mark]} ${mark}, not ${least}`);
  }
  check(name, drawn.images === 0, "a text of the record became an element");
  await page.screenshot({ path: `${folder}/${name}-light.png`, fullPage: true });
  await keyboard(name, page);
  if (name !== "long") {
    await tables(name, page);
    await accessible(name, page);
  }
  await page.emulateMedia({ media: "print" });
  if (name !== "long") await page.pdf({ path: `${folder}/${name}.pdf`, format: "A4" });
  await context.close();

  if (name === "long") continue;
  const dark = await open(name, { viewport: { width: 1240, height: 900 }, colorScheme: "dark" });
  await accessible(`${name}, dark`, dark.page);
  await dark.page.screenshot({ path: `${folder}/${name}-dark.png`, fullPage: true });
  await dark.context.close();
  const narrow = await open(name, { viewport: { width: 375, height: 800 } });
  const beyond = await narrow.page.evaluate(overflow);
  check(`${name}, narrow`, beyond <= 0, `${beyond} px beyond 375`);
  await narrow.page.screenshot({ path: `${folder}/${name}-narrow.png`, fullPage: true });
  await narrow.context.close();
}
await browser.close();
for (const failure of failures) console.error(failure);
console.log(failures.length === 0 ? "web: every page passed" : `web: ${failures.length} failures`);
process.exit(failures.length === 0 ? 0 : 1);
