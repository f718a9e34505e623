"""Process that runs cells for another one: reads them from stdin, answers on stdout."""

from __future__ import annotations

import os
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor, wait

from anabranch._core import Progress
from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.execute import WATCH_SECONDS
from anabranch.simulate.study.job import run_here


def main() -> None:
    """Runs one cell after the other until stdin ends: a line of progress now and then, None or the error at the end."""
    # What schemes print must not stand among the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with ThreadPoolExecutor(1) as worker:
        while True:
            try:
                job, command = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            progress = Progress()
            running = worker.submit(run_here, job, progress, command)
            answer: object = None
            try:
                while not wait([running], WATCH_SECONDS).done:
                    _say(answers, _read(progress))
                running.result(0)
            except BrokenPipeError:
                # The other process is gone, and with it whoever wanted the results.
                os._exit(1)
            except AnabranchError as error:
                answer = error
            _say(answers, answer)


def _read(progress: Progress) -> tuple[float, float, int, int, int]:
    counted = progress.packet_hops, progress.flows_finished, progress.flows_total
    return progress.simulated_s, progress.end_s, *counted


def _say(answers: object, answer: object) -> None:
    pickle.dump(answer, answers)  # type: ignore[arg-type]
    answers.flush()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
