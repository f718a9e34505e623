#!/bin/bash
# Runs a command in mount, network and process namespaces of its own, with an empty /run and an empty BPF file system:
# what was prepared by hand or left behind cannot change how it ends, and everything it leaves, daemons too, ends with it.
# A user who is not root has no such world; the command runs as it is, and tests say what they skip.
set -u
# Makefile: the limit of one test program, which stands beside all that it starts and sees their stacks.
[ -z "${ANABRANCH_LIMIT_S:-}" ] || set -- "$(dirname "$0")/limit.sh" "$ANABRANCH_LIMIT_S" "$@"
in_world=(unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private -- "$BASH" -c)
# shellcheck disable=SC2016 # expanded inside
prepare='
    PATH="$PATH:/usr/sbin:/sbin"
    mount --no-mtab -t tmpfs -o mode=755 tmpfs /run || exit
    # Missing only where the kernel has no BPF; tests name that.
    mount --no-mtab -t bpf -o mode=700 bpf /sys/fs/bpf 2>/dev/null
    ip link set lo up 2>/dev/null
    export ANABRANCH_OWN_WORLD=$(readlink /proc/self/ns/mnt)
    # No exec: the first process of a process namespace has to wait for orphans.
    "$@"
    exit'

if [ "$(id -u)" = 0 ]; then
    if refusal=$("${in_world[@]}" "$prepare" world true 2>&1); then
        exec "${in_world[@]}" "$prepare" world "$@"
    fi
    echo "tests run among the machine's own namespaces: ${refusal:-unshare failed}" >&2
fi
ANABRANCH_OWN_WORLD=$(readlink /proc/self/ns/mnt)
export ANABRANCH_OWN_WORLD
exec "$@"
