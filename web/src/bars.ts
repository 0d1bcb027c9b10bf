// Bars in parts: where CPU time went, what TCP senders waited for.

import { h, s } from "./dom";
import { percent } from "./units";

export interface Part {
  name: string;
  tone: string;
  /** From 0 to 1; the parts of a bar add up to 1 at most. */
  share: number;
}

export interface Bar {
  name: string;
  end: string;
  parts: Part[];
}

export function bars(label: string, all: Bar[]): HTMLElement {
  const tones = new Map(all.flatMap((bar) => bar.parts.filter((part) => part.share > 0)).map((part) => [part.name, part.tone]));
  const legend = h("ul", { class: "legend" }, [...tones].map(([name, tone]) => h("li", { class: tone }, name)));
  const rows = all.map((bar) =>
    h("div", { class: "bar" },
      h("span", { class: "name" }, bar.name),
      strip(`${label}, ${bar.name}: ${said(bar)}`, bar.parts),
      h("span", { class: "end" }, bar.end)));
  return h("div", { class: "bars" }, legend, rows);
}

function strip(label: string, parts: Part[]): SVGElement {
  let from = 0;
  const drawn = parts.filter((part) => part.share > 0).map((part) => {
    const rect = s("rect", { class: part.tone, x: `${100 * from}%`, width: `${100 * part.share}%`, height: "100%" },
      s("title", {}, `${part.name}: ${percent(part.share)}`));
    from += part.share;
    return rect;
  });
  return s("svg", { class: "strip", role: "img", "aria-label": label }, s("rect", { class: "track", width: "100%", height: "100%" }), drawn);
}

function said(bar: Bar): string {
  const parts = bar.parts.filter((part) => part.share >= 0.005);
  return parts.map((part) => `${part.name} ${percent(part.share)}`).join(", ");
}
