// A figure: a chart, and its data as a table that is made when it is opened, with ways to take them
// elsewhere (CSV, Markdown, SVG).

import { h, type Child } from "./dom";
import { save, standalone } from "./save";

export interface TableData {
  head: string[];
  rows: string[][];
}

export interface FigureOptions {
  title: string;
  note?: string;
  chart: Element;
  table: () => TableData;
  wide?: boolean;
}

export function figure({ title, note, chart, table, wide }: FigureOptions): HTMLElement {
  const id = `figure-${++number}`;
  const details = h("details", {}, h("summary", {}, "Data", h("span", { class: "hidden" }, ` of ${title}`)));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...content(title, chart, table()));
  });
  return h("figure", { class: wide ? "wide" : undefined, "aria-labelledby": id },
    h("figcaption", { id }, h("strong", {}, title), note && h("span", {}, note)),
    chart,
    details);
}

function content(title: string, chart: Element, data: TableData): Node[] {
  const name = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const svg = chart instanceof SVGSVGElement ? chart : chart.querySelector("svg");
  const button = (text: string, run: () => void) => {
    const made = h("button", { type: "button" }, text);
    made.addEventListener("click", run);
    return made;
  };
  const tools = h("p", { class: "tools" },
    button("Save CSV", () => save(`${name}.csv`, "text/csv", csv(data))),
    button("Save Markdown", () => save(`${name}.md`, "text/markdown", markdown(data))),
    svg && button("Save SVG", () => save(`${name}.svg`, "image/svg+xml", standalone(svg))));
  return [tools, table(title, data)];
}

/** A table, whose first column names its rows; long ones grow by a button. */
export function table(title: string, { head, rows }: TableData, cell: (text: string, column: number) => Child = (text) => text): HTMLElement {
  const body = h("tbody");
  const isNumber = head.map((_, column) => rows.slice(0, 20).every((row) => /^[-+\d.,~]|^$/.test(row[column] ?? "")));
  const add = () => {
    const next = rows.slice(body.childElementCount, body.childElementCount + STEP);
    body.append(...next.map((row) => h("tr", {}, row.map((text, column) =>
      column === 0
        ? h("th", { scope: "row" }, cell(text, column))
        : h("td", { class: isNumber[column] ? "number" : undefined }, cell(text, column))))));
    more.hidden = body.childElementCount >= rows.length;
  };
  const more = h("button", { type: "button" }, `Show ${STEP} more of ${rows.length} rows`);
  more.addEventListener("click", add);
  add();
  const titles = head.map((text, column) => h("th", { scope: "col", class: column > 0 && isNumber[column] ? "number" : undefined }, text));
  return h("div", { class: "table", tabindex: 0, role: "group", "aria-label": `${title}, table` },
    h("table", {}, h("caption", { class: "hidden" }, title), h("thead", {}, h("tr", {}, titles)), body),
    more);
}

function csv({ head, rows }: TableData): string {
  const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return [head, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";
}

function markdown({ head, rows }: TableData): string {
  const line = (row: string[]) => `| ${row.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n") + "\n";
}

let number = 0;
const STEP = 200;
