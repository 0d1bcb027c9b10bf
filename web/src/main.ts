// A report: reads the data of the page and builds it.

import { compared } from "./compared";
import type { Page } from "./data";
import { append, h } from "./dom";
import { curve, hosts, overview, search, test } from "./sections";

function build(page: Page, into: Element): void {
  const title = page.title.replace("->", "→") || "Report";
  document.title = `${title} - linerate report`;
  const known = (name: string) => page.tests[0]?.facts.find(([fact]) => fact === name)?.[1];
  const about = [known("started"), known("host"), known("kernel"), known("imported from")].filter(Boolean).join(" · ");
  append(into, [
    h("header", { class: "page" },
      h("p", { class: "brand" }, "linerate report"),
      h("h1", {}, title),
      about && h("p", { class: "about" }, about),
      page.error && h("p", { class: "error" }, page.error)),
    h("main", {},
      page.tests.length > 0 && overview(page.tests),
      page.comparison && compared(page.comparison),
      page.searches.map(search),
      page.curves.map(curve),
      page.tests.map(test),
      hosts(page.tests)),
    h("footer", {}, `Written by linerate ${page.linerate}. VALID, SUSPECT and INVALID say whether to believe a result; linerate explain RULE prints the page of a rule.`),
  ]);
}

const text = document.getElementById("data")?.textContent ?? "{}";
build(JSON.parse(text) as Page, document.getElementById("report")!);
