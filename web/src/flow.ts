// Where datagrams went: a stream from the sender that splits into what arrived and what did not.

import { h, s } from "./dom";
import type { Flow, FlowPart } from "./data";
import { round } from "./chart";
import { count, percent } from "./units";

export function flow(flow: Flow): HTMLElement {
  const svg = s("svg", { class: "flow", role: "img", "aria-label": `${flow.title}: ${said(flow)}` });
  const element = h("div", { class: "plot" }, svg);
  const draw = (width: number) => {
    const height = Math.max(110, flow.parts.length * ROW);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", String(height));
    svg.replaceChildren(...drawn(flow, width, height));
  };
  new ResizeObserver(([entry]) => draw(Math.max(240, Math.round(entry?.contentRect.width ?? 480)))).observe(element);
  draw(480);
  return element;
}

function drawn(flow: Flow, width: number, height: number): SVGElement[] {
  const room = Math.min(250, width * 0.52);
  const [left, right] = [NODE, width - room - NODE];
  const total = flow.parts.reduce((sum, part) => sum + part.datagrams, 0) || 1;
  const gap = 10;
  const least = 2.5;
  const free = height - gap * (flow.parts.length - 1) - 8;
  const sizes = flow.parts.map((part) => Math.max(least, (part.datagrams / total) * free));
  const shrink = Math.min(1, free / sizes.reduce((sum, size) => sum + size, 0));
  const heights = sizes.map((size) => size * shrink);
  const all = heights.reduce((sum, size) => sum + size, 0);
  let [from, to, label] = [(height - all) / 2, 4, 0];
  const ribbons = flow.parts.flatMap((part, index) => {
    const size = heights[index]!;
    const tone = toneOf(part);
    const middle = (left + right) / 2;
    const ribbon = s("path", {
      class: `ribbon ${tone}`,
      d: `M${left} ${round(from)}C${middle} ${round(from)} ${middle} ${round(to)} ${right} ${round(to)}V${round(to + size)}C${middle} ${round(to + size)} ${middle} ${round(from + size)} ${left} ${round(from + size)}Z`,
    }, s("title", {}, `${part.place}: ${count(part.datagrams)}`));
    const node = s("rect", { class: tone, x: right, y: round(to), width: NODE, height: round(size) });
    label = Math.min(Math.max(label, to + size / 2 - 8), height - (flow.parts.length - index) * 30 + 2);
    const text = s("text", { x: right + NODE + 8, y: round(label + 10) },
      s("tspan", { class: "strong" }, count(part.datagrams)), ` ${percent(part.datagrams / (flow.sent || 1))}`,
      s("tspan", { class: "faint", x: right + NODE + 8, dy: 14 }, short(part.place, room)));
    label += 30;
    from += size;
    to += size + gap;
    return [ribbon, node, text];
  });
  const source = s("rect", { class: "source", x: 0, y: round((height - all) / 2), width: NODE, height: round(all) });
  const name = s("text", { class: "strong", x: NODE + 6, y: round(height / 2) }, `${count(flow.sent)} sent`);
  return [source, ...ribbons, name];
}

const toneOf = ({ kind }: FlowPart) =>
  kind === "received" ? "tone-good" : kind === "drop" ? "tone-bad" : kind === "remainder" ? "tone-open" : "tone-other";

function short(text: string, room: number): string {
  const letters = Math.floor(room / 6.4);
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

function said(flow: Flow): string {
  return `of ${count(flow.sent)} datagrams ${flow.parts.map((part) => `${count(part.datagrams)} ${part.place}`).join(", ")}`;
}

const NODE = 10;
const ROW = 44;
