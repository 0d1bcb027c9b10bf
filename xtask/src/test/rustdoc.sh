#!/usr/bin/env bash
# Takes the place of rustdoc in `cargo test --doc`: writes the documentation of a crate, and fails on
# faults in it, before it runs the examples.
set -euo pipefail

documentation=()
is_value=false
for word in "$@"; do
    if "$is_value"; then
        is_value=false
        continue
    fi
    case "$word" in
    --test) ;;
    --test-*) is_value=true ;;
    *) documentation+=("$word") ;;
    esac
done
if [ "${#documentation[@]}" -lt "$#" ]; then
    rustdoc "${documentation[@]}" -D warnings --out-dir "$LINERATE_DOC"
fi
exec rustdoc "$@"
