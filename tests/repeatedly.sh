#!/bin/bash
# Runs `make test` again and again, beside busy processes: `tests/repeatedly.sh 10 0 4` is ten runs alone and ten beside
# four burners, with limits for a machine that is so much slower. Each run has its log in .make/repeatedly; a line says
# how each ended, the last one how many passed.
set -u
cd "$(dirname "$0")/.." || exit
times=$1
shift
run_all=(make test NICE= LIMIT_S=7200 PROGRAM_LIMIT_S=3600)
mkdir -p .make/repeatedly
passed=0
burning=()
trap 'kill "${burning[@]}" 2>/dev/null' EXIT
for burners in "$@"; do
    for ((number = 0; number < burners; number++)); do
        yes >/dev/null &
        burning+=($!)
    done
    for ((run = 1; run <= times; run++)); do
        log=.make/repeatedly/$burners-burners-$run.log
        began=$SECONDS
        if "${run_all[@]}" >"$log" 2>&1; then
            passed=$((passed + 1))
            echo "beside $burners, run $run: passed in $((SECONDS - began)) s"
        else
            echo "beside $burners, run $run: failed after $((SECONDS - began)) s: $log"
        fi
    done
    kill "${burning[@]}" 2>/dev/null
    burning=()
done
echo "$passed of $((times * $#)) runs passed"
[ "$passed" = $((times * $#)) ]
