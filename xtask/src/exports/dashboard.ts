// The dashboard as Grafana's own types have it. The task appends its JSON, and the compiler of
// TypeScript names what is not of these types.

import type { Dashboard } from "@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen";

/** JSON has the values of the enumerations, and not their names. */
type Plain<T> = T extends string
  ? `${T}`
  : T extends (infer One)[]
    ? Plain<One>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

export const dashboard: Plain<Dashboard> =
