#!/bin/bash
# Runs a command for at most so many seconds: limit.sh SECONDS COMMAND... Past them it prints what still runs, each process
# with the stacks of its threads (in which a Rust test's function stands), kills all of it and ends with status 124.
set -u
limit_s=$1
shift

# A process and all that descend from it, children last.
family() {
    local pid=$1 child
    echo "$pid"
    for child in $(ps -o pid= --ppid "$pid"); do family "$child"; done
}

over() {
    local pid members
    members=$(family "$1")
    echo "limit.sh: still running after $limit_s s; what runs, and where:" >&2
    for pid in $members; do
        ps -o pid=,args= -p "$pid" | cut -c1-200 >&2
        if command -v eu-stack >/dev/null; then
            timeout 20 eu-stack -n 48 --pid="$pid" 2>/dev/null | head -400 >&2
        else
            cat "/proc/$pid"/task/*/comm 2>/dev/null | sed 's/^/    thread /' >&2
        fi
    done
    # shellcheck disable=SC2086 # one word for each process
    kill -KILL $members 2>/dev/null
}

"$@" &
command=$!
trap 'kill -TERM $(family "$command") 2>/dev/null' INT TERM
(
    sleep "$limit_s" &
    trap 'kill $! 2>/dev/null; exit 0' TERM
    wait $!
    trap '' TERM
    over "$command"
    exit 124
) &
watchdog=$!
wait "$command"
status=$?
kill -TERM "$watchdog" 2>/dev/null
wait "$watchdog" 2>/dev/null
[ $? = 124 ] && exit 124
exit "$status"
