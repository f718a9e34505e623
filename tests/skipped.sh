#!/bin/sh
# Says how many tests were skipped, and why: `tests/skipped.sh LOG...`, of pytest -rs and of cargo test.
reasons=$(sed -n 's/^SKIPPED \[\([0-9]*\)\] \(.*\)$/\1 \2/p; s/^skipped: /1 /p' "$@" | sort | uniq)
count=$(echo "$reasons" | awk '{ all += $1 } END { print all + 0 }')
echo "make test: $count skipped"
[ -z "$reasons" ] || echo "$reasons" | sed 's/^[0-9]* /  /'
