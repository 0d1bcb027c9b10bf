// A comparison of runs before a change with runs after it.

import { ticks } from "d3-array";
import type { Comparison, Compared } from "./data";
import { h, s } from "./dom";
import { figure, table } from "./figure";
import { round } from "./chart";

export function compared(of: Comparison): HTMLElement {
  const data = () => ({
    head: ["row", "before", "after", "runs", "ratio", "interval", "result"],
    rows: of.rows.map((row) => [
      row.title, row.before, row.after, row.runs.join(", "), row.ratio?.toFixed(3) ?? "",
      row.interval ? `${row.interval.low.toFixed(3)} to ${row.interval.high.toFixed(3)}` : "", row.result]),
  });
  const differences = of.differences.length > 0 && h("details", {},
    h("summary", {}, `Settings that differ (${of.differences.length})`),
    table("Settings that differ", { head: ["setting", "before", "after"], rows: of.differences.map((one) => [one.what, one.before || "not set", one.after || "not set"]) }));
  return h("section", { class: "test", "aria-labelledby": "comparison" },
    h("header", {}, h("h2", { id: "comparison" }, "Before and after")),
    table("Before and after", data()),
    h("div", { class: "figures" }, figure({ title: "Ratio after to before", note: "with its confidence interval", chart: intervals(of.rows), table: data, wide: true })),
    h("ul", { class: "remarks" }, of.remarks.map((text) => h("li", {}, text))),
    differences);
}

function intervals(rows: Compared[]): HTMLElement {
  const known = rows.filter((row) => row.ratio !== undefined);
  const ends = known.flatMap((row) => [row.ratio!, row.interval?.low ?? row.ratio!, row.interval?.high ?? row.ratio!]);
  const reach = Math.max(0.02, ...ends.map((end) => Math.abs(end - 1))) * 1.1;
  const svg = s("svg", { class: "intervals", role: "img", "aria-label": known.map((row) => `${row.title}: ${row.ratio!.toFixed(3)}, ${row.result}`).join("; ") });
  const element = h("div", { class: "plot" }, svg);
  const draw = (width: number) => {
    const height = known.length * ROW + 24;
    const left = Math.min(200, width * 0.36);
    const x = (ratio: number) => round(left + ((ratio - 1 + reach) / (2 * reach)) * (width - left - 12));
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", String(height));
    const marks = ticks(-reach, reach, 6).map((change) => 1 + change);
    svg.replaceChildren(
      ...marks.map((ratio) => s("g", {},
        s("line", { class: ratio === 1 ? "axis" : "grid", x1: x(ratio), x2: x(ratio), y2: height - 20 }),
        s("text", { x: x(ratio), y: height - 5, "text-anchor": "middle" }, `${ratio >= 1 ? "+" : ""}${(100 * (ratio - 1)).toFixed(1)} %`))),
      ...known.map((row, index) => {
        const y = index * ROW + ROW / 2;
        return s("g", { class: row.change ?? "open" },
          s("text", { y: y + 4 }, row.title),
          row.interval && s("line", { class: "interval", x1: x(row.interval.low), x2: x(row.interval.high), y1: y, y2: y }),
          s("circle", { cx: x(row.ratio!), cy: y, r: 4.5 }));
      }));
  };
  new ResizeObserver(([entry]) => draw(Math.max(260, Math.round(entry?.contentRect.width ?? 600)))).observe(element);
  draw(600);
  return element;
}

const ROW = 30;
