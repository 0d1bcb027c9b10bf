// The data of a page, as crates/report/src/html writes them. Numbers are in base units.

export interface Page {
  schema: string;
  linerate: string;
  title: string;
  tests: Test[];
  searches: Search[];
  curves: Curve[];
  comparison?: Comparison;
  error?: string;
}

export type Stamp = "VALID" | "SUSPECT" | "INVALID";
export type Fact = [name: string, value: string];

export interface Test {
  title: string;
  question?: string;
  stamp?: Stamp;
  facts: Fact[];
  ends: string;
  error?: string;
  rows: Row[];
  verdict?: Verdict;
  reasons: Reason[];
  unchecked: string[];
  notes: string[];
  throughput: Course[];
  flows: Flow[];
  shares: Shares[];
  times: Times[];
  delay?: string;
  cpu: CpuTime[];
  flames: Flame[];
  hosts: Host[];
  command: string;
}

export interface Row {
  title: string;
  value: string;
  facts: Fact[];
}

export interface Verdict {
  conclusion: "delivered" | "limited" | "undecided";
  sentence: string;
  would_decide?: string;
  findings: Finding[];
}

export interface Finding {
  rule: string;
  certainty: string;
  text: string;
  evidence: string[];
  allows?: string;
  remedy: string;
  commands: { place: string; text: string; now?: string }[];
}

export interface Reason {
  stamp: Stamp;
  rule: string;
  host: string;
  text: string;
}

export interface Course {
  title: string;
  seconds: number[];
  from_seconds: number;
  omitted: number;
  rates: number[];
  retransmits?: number[];
  missing?: number[];
  streams: { id: number; rates: number[] }[];
  asked_bits_per_second?: number;
}

export interface Flow {
  title: string;
  sent: number;
  parts: FlowPart[];
}

export interface FlowPart {
  kind: "received" | "late" | "in_flight" | "drop" | "remainder";
  place: string;
  counter: string;
  datagrams: number;
  least: number;
  most: number;
}

export interface Shares {
  title: string;
  parts: [name: string, share: number][];
  retransmitted_segments: number;
  rtt_seconds?: number;
}

export interface Times {
  title: string;
  count: number;
  lost: number;
  quantiles: [name: string, seconds: number][];
  buckets: [seconds: number, count: number][];
}

export interface CpuTime {
  title: string;
  host: string;
  cpus: { cpu: number; busy: number; work: [kind: string, share: number][] }[];
  work: { kind: string; name: string; share: number; nanos_per_kib?: number }[];
  what_if: string[];
}

export interface Flame {
  host: string;
  samples: number;
  stacks: [frames: string, count: number][];
}

export interface TextTable {
  name: string;
  head: string[];
  rows: string[][];
}

export interface Host {
  title: string;
  tables: TextTable[];
  gaps: string[];
}

export interface Search {
  title: string;
  ends: string;
  seconds: number;
  limit: string;
  verdict?: string;
  remarks: string[];
  goals: Goal[];
  trials: Trial[];
  command: string;
}

export interface Goal {
  loss: string;
  lower_bits_per_second?: number;
  upper_bits_per_second?: number;
  throughput_bits_per_second?: number;
  width?: string;
  trials: number;
  end: string;
}

export interface Trial {
  purpose: string;
  load_bits_per_second: number;
  offered_bits_per_second: number;
  arrived_bits_per_second: number;
  lost_ratio: number;
  delay_seconds: number;
  seconds: number;
  stamp: Stamp;
  disturbed: boolean;
}

export interface Curve {
  title: string;
  points: { load_bits_per_second: number; arrived_bits_per_second: number; lost_ratio?: number }[];
  knee_bits_per_second?: [number, number];
  ceiling_bits_per_second?: number;
}

export interface Comparison {
  rows: Compared[];
  remarks: string[];
  differences: { what: string; before: string; after: string }[];
}

export interface Compared {
  title: string;
  before: string;
  after: string;
  runs: [number, number];
  ratio?: number;
  interval?: { low: number; high: number };
  result: string;
  change?: "better" | "worse";
}
