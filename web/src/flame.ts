// A flame graph of call chains: the root at the bottom, widths by samples. Enter and clicks zoom.

import { h, s } from "./dom";
import type { Flame } from "./data";
import { clamp, round } from "./chart";
import { count, percent } from "./units";

interface Frame {
  name: string;
  depth: number;
  from: number;
  samples: number;
  own: number;
  parent?: Frame;
  children: Map<string, Frame>;
}

export function flame(data: Flame): HTMLElement {
  const root = tree(data.stacks);
  const svg = s("svg", { class: "flame", role: "img", tabindex: 0, "aria-label": `Flame graph of ${data.host}, ${count(root.samples)} samples. Arrow keys move, Enter zooms, Escape shows all.` });
  const readout = h("p", { class: "readout", "aria-live": "polite" });
  const element = h("div", { class: "plot" }, svg, readout);
  let [width, top, chosen] = [900, root, root];
  const tell = () => {
    readout.textContent = `${chosen.name}: ${count(chosen.samples)} samples, ${percent(chosen.samples / root.samples)}`;
    svg.querySelector(".chosen")?.classList.remove("chosen");
    rects.get(chosen)?.classList.add("chosen");
  };
  const rects = new Map<Frame, SVGElement>();
  const draw = () => {
    rects.clear();
    const levels = deepest(top, (POINTED * top.samples) / width) + 1;
    const height = levels * ROW;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("height", String(height));
    const drawn: SVGElement[] = [];
    const put = (frame: Frame) => {
      const clip = frame.depth < top.depth;
      const x = clip ? 0 : ((frame.from - top.from) / top.samples) * width;
      const wide = clip ? width : (frame.samples / top.samples) * width;
      if (wide < 0.4) return;
      const y = height - (frame.depth + 1) * ROW;
      if (y < 0) return;
      const rect = s("g", { class: `frame-${hash(frame.name)}${clip ? " clip" : ""}`, transform: `translate(${round(x)} ${y})` },
        s("rect", { width: Math.max(0.3, round(wide - 0.6)), height: ROW - 1 }),
        s("title", {}, `${frame.name}: ${count(frame.samples)} samples, ${percent(frame.samples / root.samples)}`),
        wide > 34 && s("text", { x: 4, y: ROW - 5.5 }, frame.name.slice(0, Math.floor((wide - 6) / 6.3))));
      rect.addEventListener("click", () => { top = chosen = frame; draw(); });
      rect.addEventListener("pointerenter", () => { chosen = frame; tell(); });
      rects.set(frame, rect);
      drawn.push(rect);
      if (!clip) for (const child of frame.children.values()) put(child);
    };
    for (let parent = top.parent; parent; parent = parent.parent) put(parent);
    put(top);
    svg.replaceChildren(...drawn);
    svg.dataset.frames = String(drawn.length);
  };
  svg.addEventListener("keydown", (event) => {
    const next = moved(chosen, event.key);
    if (event.key === "Enter") top = chosen;
    else if (event.key === "Escape") top = chosen = root;
    else if (next) chosen = next;
    else return;
    event.preventDefault();
    draw();
    tell();
  });
  new ResizeObserver(([entry]) => {
    width = Math.max(240, Math.round(entry?.contentRect.width ?? width));
    draw();
  }).observe(element);
  draw();
  return element;
}

/** Functions by the samples in themselves, and those below them. */
export function functions(data: Flame): string[][] {
  const all = new Map<string, { own: number; samples: number }>();
  const add = (frame: Frame, above: Set<string>) => {
    const known = all.get(frame.name) ?? { own: 0, samples: 0 };
    known.own += frame.own;
    if (!above.has(frame.name)) known.samples += frame.samples;
    all.set(frame.name, known);
    const names = new Set(above).add(frame.name);
    for (const child of frame.children.values()) add(child, names);
  };
  const root = tree(data.stacks);
  for (const child of root.children.values()) add(child, new Set());
  const sorted = [...all].sort(([, one], [, other]) => other.own - one.own);
  return sorted.map(([name, one]) => [name, count(one.own), percent(one.own / root.samples), count(one.samples), percent(one.samples / root.samples)]);
}

function tree(stacks: Flame["stacks"]): Frame {
  const root: Frame = { name: "all", depth: 0, from: 0, samples: 0, own: 0, children: new Map() };
  for (const [frames, samples] of stacks) {
    const names = busy(frames.split(";")).slice(0, DEEPEST);
    if (names.length === 0) continue;
    let at = root;
    root.samples += samples;
    for (const name of names) {
      let next = at.children.get(name);
      if (!next) {
        next = { name, depth: at.depth + 1, from: 0, samples: 0, own: 0, parent: at, children: new Map() };
        at.children.set(name, next);
      }
      next.samples += samples;
      at = next;
    }
    at.own += samples;
  }
  const place = (frame: Frame) => {
    let from = frame.from;
    const children = [...frame.children.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
    for (const child of children) {
      child.from = from;
      from += child.samples;
      place(child);
    }
  };
  place(root);
  return root;
}

/** A chain of the idle task is that of the interrupt in it, or idle time, which is left out. */
function busy(names: string[]): string[] {
  if (names[0] !== "idle") return names;
  const at = names.findIndex((name) => INTERRUPT.test(name));
  return at < 0 ? [] : ["idle", ...names.slice(at)];
}

/** The highest level with a frame that is wide enough to be pointed at. */
function deepest(frame: Frame, least: number): number {
  const wide = [...frame.children.values()].filter((child) => child.samples >= least);
  return Math.max(frame.depth, ...wide.map((child) => deepest(child, least)));
}

function moved(frame: Frame, key: string): Frame | undefined {
  const byPlace = (frames: Iterable<Frame>) => [...frames].sort((one, other) => one.from - other.from);
  if (key === "ArrowDown") return frame.parent;
  if (key === "ArrowUp") return [...frame.children.values()].sort((one, other) => other.samples - one.samples)[0];
  if ((key !== "ArrowLeft" && key !== "ArrowRight") || !frame.parent) return undefined;
  const siblings = byPlace(frame.parent.children.values());
  return siblings[clamp(siblings.indexOf(frame) + (key === "ArrowLeft" ? -1 : 1), 0, siblings.length - 1)];
}

/** One of six tones, the same for a name everywhere. */
function hash(name: string): number {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 65_521;
  return sum % 6;
}

/** How functions are named that an interrupt enters the kernel by. */
const INTERRUPT = /^(asm_|sysvec_|common_interrupt|el1h?_|do_irq|handle_irq|irq_|__irq|__do_softirq|do_softirq|handle_softirqs|riscv_intc)/;
/** Pixels. */
const POINTED = 2;
const ROW = 17;
const DEEPEST = 128;
