#!/usr/bin/env bash
# Takes the place of rustdoc in `cargo test --doc`: writes the documentation of a crate, and fails on
# faults in it, before it runs the examples.
set -euo pipefail

documentation=()
value_of=
for word in "$@"; do
    case "$value_of$word" in
    --test) ;;
    --test-*) value_of=$word ;;
    *) [ -n "$value_of" ] && value_of= || documentation+=("$word") ;;
    esac
done
if [ "${#documentation[@]}" -lt "$#" ]; then
    rustdoc "${documentation[@]}" -D warnings --out-dir "$LINERATE_DOC"
fi
exec rustdoc "$@"
