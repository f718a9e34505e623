"""The process that goes back: `python -m anabranch.deploy.confirm.revert`, started by `apply --confirm`.

It has no terminal and a session of its own, so that neither a lost connection nor the end of `apply` ends it. On
standard input it reads its order; the clock runs when the input ends.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import syslog
import time
from datetime import datetime, timedelta

from anabranch.deploy.confirm.guard import BUSY, READY, Order
from anabranch.deploy.confirm.pending import WAKE, Pending, claim, file_of, late, write
from anabranch.deploy.targets.registry import target

RETRY_LEAST_S, RETRY_MOST_S = 1.0, 60.0


def revert(order: Order) -> int:
    """Puts back what stood before an order's plan; returns the number of changes.

    Raises:
        AnabranchError: the target refuses, or does not answer.

    """
    chosen = target(order.target)
    with chosen.observe(order.plan, order.options, writes=True) as observed:
        change = chosen.change(order.plan, observed, order.before)
        if change:
            change.commit()
        return len(change)


def main() -> None:
    """Waits for the time of an order and goes back, again and again until it has."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {WAKE})
    if os.fork():
        # It becomes a child of init, so that nobody has to wait for its end.
        os._exit(0)
    order: Order = pickle.load(sys.stdin.buffer)
    file = file_of(order.scope)
    log = file.with_suffix(".log")
    handle = claim(file)
    if handle is None:
        print(BUSY, flush=True)
        return
    scope, name = order.scope, order.file
    write(handle, Pending(scope, name, "", os.getpid(), str(log)))
    print(f"{READY} process {os.getpid()} reports in {log}", flush=True)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

    def report(text: str) -> None:
        with log.open("a", encoding="utf-8") as out:
            out.write(f"{datetime.now().astimezone().isoformat(timespec='seconds')} {scope}: {name}: {text}\n")
        syslog.syslog(syslog.LOG_WARNING, f"anabranch: {scope}: {name}: {text}")

    # The end of the input: the plan is in force, or `apply` was killed.
    sys.stdin.buffer.read()
    if not file.exists():
        return
    end = datetime.now().astimezone() + timedelta(seconds=order.seconds)
    write(handle, Pending(scope, name, end.strftime("%H:%M:%S"), os.getpid(), str(log)))
    deadline = time.clock_gettime(time.CLOCK_BOOTTIME) + order.seconds
    while (left := deadline - time.clock_gettime(time.CLOCK_BOOTTIME)) > 0:
        signal.sigtimedwait({WAKE}, left)
        if not file.exists():
            report("confirmed")
            return
    try:
        file.rename(late(file))
    except FileNotFoundError:
        report("confirmed")
        return
    pause_s = RETRY_LEAST_S
    while True:
        try:
            count = revert(order)
            break
        except Exception as error:
            report(f"not confirmed, and going back failed: {error}; trying again in {pause_s:g} s")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, RETRY_MOST_S)
    report(f"not confirmed in {order.seconds:g} s: gone back, {count} changes")
    late(file).unlink()


if __name__ == "__main__":
    main()
