// Numbers with their units, as linerate writes them.

const RATES = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];

/** The decimal prefix that suits values up to `most`. */
export function rateUnit(most: number): { divisor: number; name: string } {
  const step = most > 0 ? Math.min(4, Math.max(0, Math.floor(Math.log10(most) / 3))) : 0;
  return { divisor: 10 ** (3 * step), name: RATES[step]! };
}

/** `941.4 Mbit/s`. */
export function rate(bitsPerSecond: number): string {
  const { divisor, name } = rateUnit(bitsPerSecond);
  return `${digits(bitsPerSecond / divisor)} ${name}`;
}

/** `52.46 us`. */
export function time(seconds: number): string {
  if (seconds === 0) return "0 s";
  const [factor, name] =
    seconds < 1e-6 ? [1e9, "ns"] : seconds < 1e-3 ? [1e6, "us"] : seconds < 1 ? [1e3, "ms"] : [1, "s"];
  return `${digits(seconds * (factor as number))} ${name}`;
}

/** Three or four significant digits, without an exponent. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000 || Number.isInteger(value)) return count(Math.round(value));
  return value.toFixed(size >= 100 ? 1 : size >= 1 ? 2 : 3);
}

/** A tick of an axis: no digits that say nothing. */
export function tick(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
}

/** `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** `12.3 %`; so little that it would be 0.0 % has more digits. */
export function percent(share: number): string {
  const value = 100 * share;
  const places = value === 0 || value >= 0.1 ? 1 : value >= 0.01 ? 2 : 4;
  return `${value.toFixed(places)} %`;
}
