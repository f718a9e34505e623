#!/bin/bash
# Runs a command for at most so many seconds: limit.sh SECONDS COMMAND... Past them it prints what still runs, each process
# with the names of its threads (a Rust test's thread has the test's, as Linux keeps it: 15 letters) and their stacks,
# kills all of it and ends with status 124.
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
    local pid members task
    members=$(family "$1")
    echo "limit.sh: still running after $limit_s s; what runs, and where:" >&2
    for pid in $members; do
        ps -o pid=,args= -p "$pid" | cut -c1-200 >&2
        for task in "/proc/$pid/task"/*; do echo "    thread ${task##*/} $(cat "$task/comm" 2>/dev/null)" >&2; done
        command -v eu-stack >/dev/null && timeout 20 eu-stack -n 48 --pid="$pid" 2>/dev/null | head -400 >&2
    done
    # shellcheck disable=SC2086 # one word for each process
    kill -KILL $members 2>/dev/null
}

"$@" &
command=$!
trap 'kill -TERM $(family "$command") 2>/dev/null' INT TERM
(
    # No sleep(1): one that is left behind would hold what reads our output.
    read -r -t "$limit_s" <> <(:)
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
