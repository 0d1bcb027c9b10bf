// The sections of a page: what came of it first, then the tests one by one.

import { bars, type Part } from "./bars";
import { chart, type Series } from "./chart";
import type { Course, CpuTime, Curve, Flow, Host, Reason, Row, Search, Shares, Stamp, Test, Times, Verdict } from "./data";
import { h, type Child } from "./dom";
import { figure, table } from "./figure";
import { flame, functions } from "./flame";
import { flow } from "./flow";
import { count, percent, rate, rateUnit, tick, time } from "./units";

export function stamp(of: Stamp | undefined): HTMLElement {
  return h("span", { class: `stamp ${of?.toLowerCase() ?? "none"}` }, of ?? "not judged");
}

/** All tests in a table, the stamp first. */
export function overview(tests: Test[]): HTMLElement {
  const rows = tests.flatMap((test, index) => results(test).map((row, number) =>
    h("tr", {},
      h("td", {}, number === 0 && stamp(test.stamp)),
      h("th", { scope: "row" }, h("a", { href: `#test-${index + 1}` }, row.title)),
      h("td", { class: "number strong" }, row.value),
      h("td", {}, row.facts.filter(([name]) => name !== "asked" && name !== "Jain's index").map(([name, value]) => `${value} ${name}`).join(", ")),
      h("td", { class: "limit" }, number === 0 && (test.error ?? test.verdict?.sentence)))));
  const titles = ["Stamp", "Test", "Result", "", "What limits"].map((title, index) =>
    title ? h("th", { scope: "col", class: index === 2 ? "number" : undefined }, title) : h("td"));
  return h("section", { "aria-labelledby": "results" },
    h("h2", { id: "results" }, "Results"),
    h("div", { class: "table", tabindex: 0, role: "group", "aria-label": "Results, table" },
      h("table", { class: "overview" }, h("caption", { class: "hidden" }, "Results of all tests"), h("thead", {}, h("tr", {}, titles)), h("tbody", {}, rows))));
}

/** The rows of a test; one without a result has a row all the same. */
function results(of: Test): Row[] {
  return of.rows.length > 0 ? of.rows : [{ title: of.title, value: "-", facts: [] }];
}

/** One test: its verdict, its figures, what is known of its ends, the command. */
export function test(of: Test, index: number): HTMLElement {
  const id = `test-${index + 1}`;
  const figures: Child[] = [
    ...of.throughput.map((one) => courseFigure(one)),
    of.times.length > 0 ? timesFigure(of.times, of.delay) : of.flows.map(flowFigure),
    of.cpu.map(cpuFigure),
    of.times.length > 0 && of.flows.map(flowFigure),
    of.shares.map(sharesFigure),
    ...of.flames.map((one) => figure({
      title: `Call chains, ${one.host}`,
      note: "without idle time",
      chart: flame(one),
      table: () => ({ head: ["function", "own samples", "own share", "samples", "share"], rows: functions(one) }),
      wide: true,
    })),
  ];
  return h("section", { id, class: "test", "aria-labelledby": `${id}-title` },
    h("header", {},
      h("h2", { id: `${id}-title` }, of.title),
      stamp(of.stamp),
      h("p", { class: "results" }, of.rows.map((row) => h("span", {}, h("b", {}, row.value), of.rows.length > 1 && ` ${row.title}`)))),
    of.question && h("p", { class: "question" }, `Further measurement: ${of.question}`),
    of.error && h("p", { class: "error" }, of.error),
    of.verdict && verdict(of.verdict),
    of.reasons.length > 0 && reasons(of.reasons),
    h("div", { class: "figures" }, figures),
    facts(of),
    h("p", { class: "repeat" }, h("span", {}, "Repeat it"), command(of.command)));
}

function verdict({ conclusion, sentence, would_decide, findings }: Verdict): HTMLElement {
  const cards = findings.map((one) =>
    h("details", { class: "finding", open: one.certainty === "limits" },
      h("summary", {}, h("b", {}, one.certainty), h("span", {}, one.text), h("code", {}, one.rule)),
      h("ul", {}, one.evidence.map((text) => h("li", {}, text)), one.allows && h("li", {}, `allows ${one.allows}`)),
      h("p", {}, `Change: ${one.remedy}`),
      one.commands.map((change) => h("p", { class: "change" },
        h("span", {}, change.place + (change.now ? ` (now ${change.now})` : "")), command(change.text)))));
  return h("div", { class: `verdict ${conclusion}` },
    h("p", { class: "sentence" }, h("b", {}, CONCLUSIONS[conclusion]), ` ${capital(sentence)}`),
    would_decide && h("p", {}, `Would decide: ${would_decide}`),
    cards);
}

function reasons(all: Reason[]): HTMLElement {
  const lines = all.map((one) =>
    h("li", {}, stamp(one.stamp), h("span", {}, `${capital(one.text)}${one.host ? ` (${one.host})` : ""}`), h("code", {}, one.rule)));
  return h("div", { class: "doubts" }, h("h3", {}, "Why the result is in doubt"), h("ul", {}, lines));
}

/** A command that is there to be copied. */
export function command(text: string): HTMLElement {
  const button = h("button", { type: "button", "aria-label": `Copy ${text}` }, "Copy");
  const code = h("code", {}, text);
  button.addEventListener("click", () => {
    getSelection()?.selectAllChildren(code);
    document.execCommand("copy");
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  return h("span", { class: "command" }, code, button);
}

function facts(of: Test): HTMLElement {
  const own = of.rows.flatMap((row) => row.facts.map(([name, value]) => [name, value] as const));
  const list = [...own, ...of.facts].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
  const lines = (title: string, all: string[]) =>
    all.length > 0 && h("details", {}, h("summary", {}, `${title} (${all.length})`), h("ul", {}, all.map((text) => h("li", {}, text))));
  return h("div", { class: "facts" }, h("dl", {}, list), lines("Notes", of.notes), lines("Not checked", of.unchecked));
}

function courseFigure(of: Course): HTMLElement {
  const starts = [of.from_seconds, ...of.seconds.slice(0, -1)];
  const { divisor, name } = rateUnit(Math.max(...sample(of.rates), of.asked_bits_per_second ?? 0));
  // A step holds from the begin of an interval to its end.
  const step = (rates: number[]) => ({ xs: [of.from_seconds, ...of.seconds], ys: [rates[0] ?? 0, ...rates].map((value) => value / divisor) });
  const streams: Series[] = of.streams.map((one) => ({ name: `stream ${one.id}`, tone: "tone-stream", kind: "step", ...step(one.rates) }));
  const total: Series = { name: of.streams.length > 0 ? "all streams" : of.title, tone: "tone-1", kind: "step", ...step(of.rates) };
  const guides = [
    ...(of.asked_bits_per_second ? [{ name: `asked ${rate(of.asked_bits_per_second)}`, axis: "y" as const, from: of.asked_bits_per_second / divisor }] : []),
    ...(of.omitted > 0 ? [{ name: "", axis: "x" as const, from: of.from_seconds, to: of.seconds[of.omitted - 1] ?? 0 }] : []),
  ];
  const drawn = chart({
    label: `Throughput over time, ${of.title}, ${of.rates.length} intervals`,
    x: { title: "s", format: tick, from: 0 },
    y: { title: name, format: tick },
    series: [total, ...streams],
    guides,
  });
  const events = of.retransmits ?? of.missing;
  const below = events && chart({
    label: of.retransmits ? "Retransmitted segments in each interval" : "Missing datagrams in each interval",
    x: { title: "s", format: tick, from: 0 },
    y: { title: of.retransmits ? "retransmitted segments" : "missing datagrams", format: tick },
    height: 96,
    series: [{ name: of.retransmits ? "retransmitted" : "missing", tone: "tone-bad", kind: "bars", xs: of.seconds, ys: events.map((value) => Math.max(0, value)) }],
  });
  const head = ["from s", "to s", name, ...(events ? [of.retransmits ? "retransmitted" : "missing"] : []), ...of.streams.map((one) => `stream ${one.id}`)];
  return figure({
    title: "Throughput over time",
    note: `${of.title}, ${count(of.rates.length)} intervals${of.streams.length > 0 ? `, ${of.streams.length} streams` : ""}`,
    chart: h("div", {}, drawn.element, below?.element),
    table: () => ({
      head,
      rows: of.rates.map((value, index) => [
        String(starts[index]), String(of.seconds[index]), (value / divisor).toFixed(3),
        ...(events ? [String(events[index])] : []),
        ...of.streams.map((one) => ((one.rates[index] ?? 0) / divisor).toFixed(3)),
      ]),
    }),
    wide: of.rates.length > 120,
  });
}

/** The values, without a call of more arguments than a stack takes. */
function sample(values: number[]): number[] {
  return [values.reduce((most, value) => Math.max(most, value), 0)];
}

function flowFigure(of: Flow): HTMLElement {
  return figure({
    title: "Where datagrams went",
    note: of.title,
    chart: flow(of),
    table: () => ({
      head: ["place", "datagrams", "share", "least", "most", "counter"],
      rows: [["sent", count(of.sent), percent(1), "", "", ""], ...of.parts.map((part) => [
        part.place, count(part.datagrams), percent(part.datagrams / (of.sent || 1)), count(part.least), count(part.most), part.counter])],
    }),
  });
}

function sharesFigure(of: Shares): HTMLElement {
  const parts = of.parts.map(([name, share], index) => ({ name, share, tone: `tone-${index + 1}` }));
  const notes = [of.title, of.rtt_seconds !== undefined && `round trip ${time(of.rtt_seconds)}`, `${count(of.retransmitted_segments)} segments retransmitted`];
  return figure({
    title: "What TCP waited for",
    note: notes.filter(Boolean).join(", "),
    chart: bars("Shares of the time of the TCP senders", [{ name: "sender", end: "", parts }]),
    table: () => ({ head: ["limit", "share of the time"], rows: of.parts.map(([name, share]) => [name, percent(share)]) }),
  });
}

function timesFigure(all: Times[], delay: string | undefined): HTMLElement {
  const series: Series[] = all.filter((one) => one.buckets.length > 0).map((one, index) => ({
    name: one.title,
    tone: one.title === "under load" ? "tone-2" : `tone-${index + 1}`,
    kind: "step",
    xs: one.buckets.map(([seconds]) => Math.max(seconds, 1e-9)),
    ys: one.buckets.map(([, below]) => (100 * below) / one.count),
  }));
  const names = all[0]?.quantiles.map(([name]) => name) ?? [];
  const drawn = chart({
    label: `Round-trip times: ${all.map((one) => `${one.title} median ${time(one.quantiles[1]?.[1] ?? 0)}`).join(", ")}`,
    x: { title: "round trip, at most", format: time, log: true },
    y: { title: "% of the round trips", format: tick, most: 100 },
    series,
  });
  return figure({
    title: all.length > 1 ? "Latency, idle and under load" : "Round trips",
    note: [delay, ...all.map((one) => `${one.title}: ${count(one.count)}, ${count(one.lost)} lost`)].filter(Boolean).join("; "),
    chart: drawn.element,
    table: () => ({ head: ["round trips", ...names], rows: all.map((one) => [one.title, ...one.quantiles.map(([, seconds]) => time(seconds))]) }),
  });
}

function cpuFigure(of: CpuTime): HTMLElement {
  const grouped = (work: [kind: string, share: number][], busy: number): Part[] =>
    GROUPS.map(([name, tone, ...kinds]) => ({
      name, tone,
      share: busy * work.filter(([kind]) => kinds.includes(kind)).reduce((sum, [, share]) => sum + share, 0),
    }));
  const all = of.cpus.map((one) => ({ name: `CPU ${one.cpu}`, end: `${Math.round(100 * one.busy)} % busy`, parts: grouped(one.work, one.busy) }));
  const whole = { name: "busy time", end: "", parts: grouped(of.work.map((one) => [one.kind, one.share]), 1) };
  return figure({
    title: `CPU time, ${of.host}`,
    note: [of.title, ...of.what_if].join("; "),
    chart: bars(`CPU time of ${of.host}`, all.length > 0 ? all : [whole]),
    table: () => ({
      head: ["work", "share of busy time", "ns per KiB", ...of.cpus.map((one) => `CPU ${one.cpu}`)],
      rows: of.work.map((one) => [one.name, percent(one.share), one.nanos_per_kib?.toFixed(1) ?? "",
        ...of.cpus.map((cpu) => percent(cpu.work.find(([kind]) => kind === one.kind)?.[1] ?? 0))]),
    }),
  });
}

/** A search: goals with their bounds, the knee, what limits. */
export function search(of: Search, index: number): HTMLElement {
  const known = (value: number | undefined) => (value === undefined ? "-" : rate(value));
  const goals = table("Goals", {
    head: ["loss", "lower bound", "upper bound", "width", "throughput", "trials", "end"],
    rows: of.goals.map((goal) => [goal.loss, known(goal.lower_bits_per_second), known(goal.upper_bits_per_second), goal.width ?? "-", known(goal.throughput_bits_per_second), String(goal.trials), goal.end]),
  });
  const points = of.trials.map((one) => ({ load: one.load_bits_per_second, arrived: one.arrived_bits_per_second, lost: one.lost_ratio }));
  const first = of.goals[0];
  const bounds = first?.lower_bits_per_second && first.upper_bits_per_second ? [first.lower_bits_per_second, first.upper_bits_per_second] as const : undefined;
  return h("section", { class: "test", "aria-labelledby": `search-${index}` },
    h("header", {}, h("h2", { id: `search-${index}` }, `Search: ${of.title}`),
      h("p", { class: "results" }, h("span", {}, h("b", {}, known(first?.throughput_bits_per_second ?? first?.lower_bits_per_second)), ` with ${first?.loss ?? ""} loss`))),
    h("div", { class: "verdict limited" }, h("p", { class: "sentence" }, capital(of.limit)), of.verdict && h("p", {}, capital(of.verdict)), of.remarks.map((text) => h("p", {}, text))),
    goals,
    h("div", { class: "figures" }, knee(points, bounds, `${of.trials.length} trials in ${time(of.seconds)}`, () => ({
      head: ["trial", "purpose", "load", "offered", "arrived", "lost", "delay", "duration", "stamp"],
      rows: of.trials.map((one, number) => [String(number + 1), one.purpose, rate(one.load_bits_per_second), rate(one.offered_bits_per_second), rate(one.arrived_bits_per_second), percent(one.lost_ratio), time(one.delay_seconds), time(one.seconds), one.stamp + (one.disturbed ? ", disturbed" : "")]),
    }))),
    h("p", { class: "repeat" }, h("span", {}, "Repeat it"), command(of.command)));
}

/** What arrived over the load, of the tests of a sweep. */
export function curve(of: Curve, index: number): HTMLElement {
  const points = of.points.map((one) => ({ load: one.load_bits_per_second, arrived: one.arrived_bits_per_second, lost: one.lost_ratio ?? 0 }));
  const note = of.knee_bits_per_second ? `knee between ${rate(of.knee_bits_per_second[0])} and ${rate(of.knee_bits_per_second[1])}` : "";
  return h("section", { class: "test", "aria-labelledby": `curve-${index}` },
    h("header", {}, h("h2", { id: `curve-${index}` }, `Load curve ${of.title.replace("->", "→")}`)),
    h("div", { class: "figures" }, knee(points, of.knee_bits_per_second, note, () => ({
      head: ["load", "arrived", "lost"],
      rows: points.map((one) => [rate(one.load), rate(one.arrived), percent(one.lost)]),
    }))));
}

function knee(all: { load: number; arrived: number; lost: number }[], bounds: readonly [number, number] | undefined, note: string, data: () => { head: string[]; rows: string[][] }): HTMLElement {
  const points = [...all].sort((one, other) => one.load - other.load);
  const most = points[points.length - 1]?.load ?? 1;
  const { divisor, name } = rateUnit(most);
  const xs = points.map((one) => one.load / divisor);
  const guides = bounds ? [{ name: `${rate(bounds[0])} to ${rate(bounds[1])}`, axis: "x" as const, from: bounds[0] / divisor, to: bounds[1] / divisor }] : [];
  const x = { title: `load, ${name}`, format: tick, from: 0 };
  const arrived = chart({
    label: `What arrived over the load, ${points.length} points${bounds ? `, knee between ${rate(bounds[0])} and ${rate(bounds[1])}` : ""}`,
    x, y: { title: `arrived, ${name}`, format: tick }, height: 260, guides,
    series: [
      { name: "all of the load", tone: "tone-faint", kind: "line", xs: [0, most / divisor], ys: [0, most / divisor] },
      { name: "arrived", tone: "tone-1", kind: "points", xs, ys: points.map((one) => one.arrived / divisor) },
    ],
  });
  const lost = chart({
    label: "Loss over the load", x, y: { title: "lost, %", format: tick }, height: 130, guides: guides.map((one) => ({ ...one, name: "" })),
    series: [{ name: "lost", tone: "tone-bad", kind: "points", xs, ys: points.map((one) => 100 * one.lost) }],
  });
  return figure({ title: "Knee", note, chart: h("div", {}, arrived.element, lost.element), table: data, wide: true });
}

/** What the hosts of the tests have, each once. */
export function hosts(tests: Test[]): HTMLElement | false {
  const all = new Map<string, Host>();
  for (const host of tests.flatMap((one) => one.hosts)) if (!all.has(host.title)) all.set(host.title, host);
  if (all.size === 0) return false;
  const parts = [...all.values()].map((host) => {
    const children: Child[] = host.tables.map((one) => [h("h4", {}, one.name), table(`${one.name} of ${host.title}`, one)]);
    const gaps = host.gaps.length > 0 && [h("h4", {}, "Not read"), h("ul", {}, host.gaps.map((text) => h("li", {}, text)))];
    return h("details", {}, h("summary", {}, host.title), children, gaps);
  });
  return h("section", { "aria-labelledby": "hosts" }, h("h2", { id: "hosts" }, "Environment"), parts);
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const CONCLUSIONS = { delivered: "Delivered.", limited: "Limited.", undecided: "Undecided." };
/** Kinds of work that share a tone. */
const GROUPS: [name: string, tone: string, ...kinds: string[]][] = [
  ["copies", "tone-1", "copy_user", "copy_iterator", "copy_memory", "copy_checks", "checksum"],
  ["system calls", "tone-6", "system_call", "wakeup"],
  ["transmit", "tone-3", "transmit"],
  ["receive", "tone-5", "receive"],
  ["driver, memory", "tone-4", "driver", "allocation", "trap_emulation"],
  ["filters, locks", "tone-2", "filters", "locking"],
  ["scheduler", "tone-7", "scheduler"],
  ["programs", "tone-8", "user"],
  ["other", "tone-9", "other"],
];
