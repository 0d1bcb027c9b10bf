// A chart of lines or points over one axis: crosshair, zoom, series that can be hidden. It is SVG,
// so that it prints sharply, follows light and dark, and can be saved. A live page calls `update`.

import { bisectCenter, extent, max, ticks } from "d3-array";
import { h, s } from "./dom";
import { digits } from "./units";

export interface Series {
  name: string;
  /** Class of its marks, which gives it its colour. */
  tone: string;
  kind: "line" | "step" | "points" | "bars";
  xs: number[];
  ys: number[];
}

export interface Guide {
  name: string;
  axis: "x" | "y";
  from: number;
  /** The other end of a band; none: it is a line. */
  to?: number;
}

export interface ChartOptions {
  label: string;
  x: { title: string; format: (value: number) => string; log?: boolean; from?: number };
  y: { title: string; format: (value: number) => string; most?: number };
  height?: number;
  series: Series[];
  guides?: Guide[];
}

export interface Chart {
  element: HTMLElement;
  svg: SVGSVGElement;
  update(series: Series[]): void;
}

const MARGIN = { top: 12, right: 22, bottom: 36, left: 60 };

export function chart(options: ChartOptions): Chart {
  const height = options.height ?? 220;
  const svg = s("svg", { class: "chart", role: "img", tabindex: 0, "aria-label": options.label });
  const readout = h("p", { class: "readout", "aria-live": "polite" });
  const legend = h("div", { class: "legend" });
  const element = h("div", { class: "plot" }, legend, svg, readout);
  const hidden = new Set<string>();
  let series = options.series;
  let width = 560;
  let zoom: [number, number] | undefined;
  let cursor: number | undefined;
  let drag: { from: number; to: number } | undefined;

  const shown = () => series.filter((one) => !hidden.has(one.name));
  const scale = () => scales(options, shown(), zoom, width, height);

  const draw = () => {
    const axes = scale();
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", String(height));
    svg.replaceChildren(
      ...frame(options, axes, width, height),
      s("g", { class: "guides" }, ...(options.guides ?? []).map((one) => guide(one, axes, width, height))),
      s("g", { class: "marks" }, ...shown().map((one) => marks(one, axes, width, height))),
      s("g", { class: "cursor" }, ...crosshair(cursor, drag, shown(), axes, height)),
    );
  };
  const moved = () => {
    const axes = scale();
    svg.querySelector(".cursor")?.replaceChildren(...crosshair(cursor, drag, shown(), axes, height));
    readout.textContent = cursor === undefined ? "" : values(cursor, shown(), options);
  };
  const valueAt = (event: PointerEvent) => {
    const box = svg.getBoundingClientRect();
    return scale().x.invert(((event.clientX - box.left) / box.width) * width);
  };

  svg.addEventListener("pointermove", (event) => {
    if (drag) drag.to = valueAt(event);
    cursor = nearest(shown(), valueAt(event));
    moved();
  });
  svg.addEventListener("pointerleave", () => {
    cursor = drag = undefined;
    moved();
  });
  svg.addEventListener("pointerdown", (event) => {
    drag = { from: valueAt(event), to: valueAt(event) };
  });
  svg.addEventListener("pointerup", () => {
    const axes = scale();
    const span = drag && ([drag.from, drag.to].sort((a, b) => a - b) as [number, number]);
    drag = undefined;
    if (span && axes.x.map(span[1]) - axes.x.map(span[0]) > 8) zoom = span;
    draw();
  });
  svg.addEventListener("dblclick", () => {
    zoom = undefined;
    draw();
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    const xs = shown()[0]?.xs ?? [];
    if (event.key === "Escape") zoom = cursor = undefined;
    else if (event.key === "Home") cursor = xs[0];
    else if (event.key === "End") cursor = xs[xs.length - 1];
    else if (step === undefined) return;
    else cursor = xs[clamp(cursor === undefined ? 0 : bisectCenter(xs, cursor) + step, 0, xs.length - 1)];
    event.preventDefault();
    draw();
    moved();
  });

  const names = () => {
    legend.replaceChildren(...series.map((one) => entry(one, hidden, draw)));
    legend.hidden = series.length < 2;
  };
  new ResizeObserver(([entry]) => {
    const next = Math.round(entry?.contentRect.width ?? 0);
    if (next === width || next === 0) return;
    width = next;
    draw();
  }).observe(element);
  names();
  draw();
  const update = (next: Series[]) => {
    series = next;
    names();
    draw();
  };
  return { element, svg, update };
}

function entry(one: Series, hidden: Set<string>, draw: () => void): HTMLElement {
  const button = h("button", { type: "button", class: one.tone, "aria-pressed": String(!hidden.has(one.name)) }, one.name);
  button.addEventListener("click", () => {
    if (!hidden.delete(one.name)) hidden.add(one.name);
    button.setAttribute("aria-pressed", String(!hidden.has(one.name)));
    draw();
  });
  return button;
}

interface Scale {
  domain: [number, number];
  map(value: number): number;
  invert(place: number): number;
  ticks: number[];
}

interface Axes {
  x: Scale;
  y: Scale;
}

function scales(options: ChartOptions, shown: Series[], zoom: [number, number] | undefined, width: number, height: number): Axes {
  const [first = 0, last = 1] = zoom ?? extent(shown.flatMap((one) => extent(one.xs) as number[]));
  const from = zoom || options.x.log ? first : Math.min(first, options.x.from ?? first);
  const guides = (options.guides ?? []).filter((one) => one.axis === "y").map((one) => one.to ?? one.from);
  const most = max([...shown.map((one) => max(one.ys) ?? 0), ...guides]) ?? 0;
  const top = options.y.most ?? (most > 0 ? most * 1.05 : 1);
  const columns = Math.max(2, Math.floor((width - MARGIN.left) / 90));
  const span: [number, number] = [MARGIN.left, width - MARGIN.right];
  const x = options.x.log ? logarithmic(from, last, span) : linear(from, last === from ? from + 1 : last, span, columns);
  return { x, y: linear(0, top, [height - MARGIN.bottom, MARGIN.top], 5) };
}

function linear(from: number, to: number, [left, right]: [number, number], count: number): Scale {
  return {
    domain: [from, to],
    map: (value) => left + ((value - from) / (to - from)) * (right - left),
    invert: (place) => from + ((place - left) / (right - left)) * (to - from),
    ticks: ticks(from, to, count),
  };
}

function logarithmic(from: number, to: number, span: [number, number]): Scale {
  const [low, high] = [Math.log10(from), Math.log10(to > from ? to : from * 1.1)];
  const inner = linear(low, high, span, 4);
  const decades = ticks(Math.floor(low), Math.ceil(high), Math.ceil(high) - Math.floor(low)).filter(Number.isInteger);
  const steps = high - low > 3 ? [1] : [1, 2, 5];
  const all = decades.flatMap((power) => steps.map((step) => step * 10 ** power));
  return {
    domain: [from, to],
    map: (value) => inner.map(Math.log10(value)),
    invert: (place) => 10 ** inner.invert(place),
    ticks: all.filter((value) => value >= from && value <= to),
  };
}

function frame(options: ChartOptions, { x, y }: Axes, width: number, height: number): SVGElement[] {
  const bottom = height - MARGIN.bottom;
  const rows = y.ticks.map((value) =>
    s("g", { transform: `translate(0 ${round(y.map(value))})` },
      s("line", { class: value === 0 ? "axis" : "grid", x1: MARGIN.left, x2: width - MARGIN.right }),
      s("text", { x: MARGIN.left - 8, dy: "0.32em", "text-anchor": "end" }, options.y.format(value))),
  );
  const columns = x.ticks.map((value) =>
    s("g", { transform: `translate(${round(x.map(value))} ${bottom})` },
      s("line", { class: "axis", y2: 4 }),
      s("text", { y: 16, "text-anchor": "middle" }, options.x.format(value))),
  );
  return [
    s("g", { class: "frame" }, rows, columns),
    s("text", { class: "unit", x: MARGIN.left, y: 8, dx: 4, dy: "0.2em" }, options.y.title),
    s("text", { class: "unit", x: width - MARGIN.right, y: height - 4, "text-anchor": "end" }, options.x.title),
  ];
}

function guide(one: Guide, { x, y }: Axes, width: number, height: number): SVGElement {
  const bottom = height - MARGIN.bottom;
  const text = (attributes: Record<string, string | number>) => s("text", attributes, one.name);
  if (one.axis === "y") {
    const place = round(y.map(one.from));
    return s("g", {},
      s("line", { x1: MARGIN.left, x2: width - MARGIN.right, y1: place, y2: place }),
      text({ x: width - MARGIN.right, y: place - 4, "text-anchor": "end" }));
  }
  const [from, to] = [one.from, one.to ?? one.from].map((value) => clamp(x.map(value), MARGIN.left, width - MARGIN.right));
  return s("g", {},
    s("rect", { x: round(from!), y: MARGIN.top, width: Math.max(1.5, round(to! - from!)), height: bottom - MARGIN.top }),
    text({ x: round(from!) - 5, y: MARGIN.top + 14, "text-anchor": "end" }));
}

/** Lines are drawn with at most four points for each column of pixels: least, most, first, last. */
function marks(one: Series, { x, y }: Axes, width: number, height: number): SVGElement {
  const group = s("g", { class: one.tone, "data-series": one.name, "data-points": one.xs.length });
  const inside = (value: number) => value >= MARGIN.left - 1 && value <= width - MARGIN.right + 1;
  if (one.kind === "points") {
    one.xs.forEach((value, index) => {
      const place = x.map(value);
      if (inside(place)) group.append(s("circle", { cx: round(place), cy: round(y.map(one.ys[index]!)), r: 3.5 }));
    });
  } else if (one.kind === "bars") {
    const base = height - MARGIN.bottom;
    one.xs.forEach((value, index) => {
      const [place, top] = [x.map(value), y.map(one.ys[index]!)];
      if (inside(place) && top < base) group.append(s("rect", { x: round(place - 1.5), y: round(top), width: 3, height: round(base - top) }));
    });
  } else {
    group.append(s("path", { d: path(one, x, y, one.kind === "step") }));
    if (one.xs.length <= 60 && one.kind === "line") {
      one.xs.forEach((value, index) => {
        const place = x.map(value);
        if (inside(place)) group.append(s("circle", { cx: round(place), cy: round(y.map(one.ys[index]!)), r: 2 }));
      });
    }
  }
  return group;
}

function path({ xs, ys }: Series, x: Scale, y: Scale, isStep: boolean): string {
  const [left, right] = x.domain;
  const parts: string[] = [];
  let column = Number.NaN;
  let [first, low, high, last] = [0, 0, 0, 0];
  const put = (place: number, value: number) => {
    const before = isStep && parts.length > 0 ? `H${round(place)}V` : `${parts.length ? "L" : "M"}${round(place)} `;
    parts.push(before + round(y.map(value)));
  };
  const flush = () => {
    if (Number.isNaN(column)) return;
    for (const value of new Set([first, low, high, last])) put(column, value);
  };
  // A point beyond each end of the view, so that lines reach its edges.
  const isOut = (index: number) => (xs[index + 1] ?? right) < left || (xs[index - 1] ?? left) > right;
  for (let index = 0; index < xs.length; index++) {
    if (isOut(index)) continue;
    const place = clamp(Math.round(x.map(xs[index]!) * 2) / 2, MARGIN.left - 1e4, 1e5);
    const value = ys[index]!;
    if (place !== column) {
      flush();
      column = place;
      first = low = high = value;
    }
    low = Math.min(low, value);
    high = Math.max(high, value);
    last = value;
  }
  flush();
  return parts.join("");
}

function crosshair(cursor: number | undefined, drag: { from: number; to: number } | undefined, shown: Series[], { x, y }: Axes, height: number): SVGElement[] {
  const bottom = height - MARGIN.bottom;
  const found: SVGElement[] = [];
  if (drag) {
    const [from, to] = [x.map(drag.from), x.map(drag.to)].sort((a, b) => a - b);
    found.push(s("rect", { x: round(from!), y: MARGIN.top, width: round(to! - from!), height: bottom - MARGIN.top }));
  }
  if (cursor === undefined) return found;
  const place = round(x.map(cursor));
  found.push(s("line", { x1: place, x2: place, y1: MARGIN.top, y2: bottom }));
  for (const one of shown.slice(0, MOST_VALUES)) {
    const value = one.ys[one.xs.indexOf(cursor)];
    if (value !== undefined) found.push(s("circle", { class: one.tone, cx: place, cy: round(y.map(value)), r: 4 }));
  }
  return found;
}

function values(cursor: number, shown: Series[], { x, y }: ChartOptions): string {
  const known = shown.slice(0, MOST_VALUES).flatMap((one) => {
    const value = one.ys[one.xs.indexOf(cursor)];
    return value === undefined ? [] : [`${one.name} ${digits(value)}`];
  });
  return `${x.format(cursor)} ${x.title}: ${known.join(", ")} ${y.title}`;
}

function nearest(shown: Series[], value: number): number | undefined {
  const xs = shown[0]?.xs;
  if (!xs?.length) return undefined;
  if (shown[0]?.kind !== "points") return xs[bisectCenter(xs, value)];
  return xs.reduce((best, one) => (Math.abs(one - value) < Math.abs(best - value) ? one : best));
}

export const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most);
export const round = (value: number) => Math.round(value * 10) / 10;

const MOST_VALUES = 20;
