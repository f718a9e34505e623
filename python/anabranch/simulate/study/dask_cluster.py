"""Cells on a Dask cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install
from anabranch.simulate.own.program import Program
from anabranch.simulate.study.job import Job, run_away, write_files
from anabranch.simulate.study.local import Watch

CONNECT_SECONDS = 10
POLL_SECONDS = 0.05
WORKERS_SECONDS = 1.0
"""Time between two checks whether there are workers, in seconds."""

Say = Callable[[str], None]
"""Called with a line for the user while cells run."""


def run_on_cluster(address: str, jobs: Sequence[Job], command: Sequence[str], watch: Watch, say: Say) -> None:
    """Sends every cell to the scheduler at `address` and writes each folder here as its cell comes back.

    Files that scenarios name travel with the cells. A cell whose worker dies is sent to another one.

    Raises:
        AnabranchError: Dask is not installed, nobody answers, the scheduler is lost, or a cell cannot be run there.

    """
    for job in jobs:
        if isinstance(job.own, Program):
            raise AnabranchError(
                f"dask: {job.own.text}: programs do not travel to workers; hint: sweep in shards, over a file "
                "system that all machines have"
            )
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise AnabranchError(f"dask: {address}: the package distributed is not installed; {install('dask')}") from None
    # Its loggers print a traceback for each connection that is lost; what is wrong, the errors below say.
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith("distributed") and isinstance(logger, logging.Logger):
            logger.setLevel(logging.CRITICAL + 1)
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)
    except TypeError as error:
        if "ssl_context" not in str(error):
            raise
        raise AnabranchError(
            f"dask: {address}: TLS without a certificate; hint: set distributed.comm.tls.ca-file and .client.cert in "
            "Dask's configuration, or DASK_DISTRIBUTED__COMM__TLS__CA_FILE and __CLIENT__CERT"
        ) from None
    except (OSError, ValueError) as error:
        raise AnabranchError(
            f"dask: {address}: no scheduler answers ({error}); start one with `dask scheduler`, and give its address"
        ) from None
    # As its loggers: a future that closing the client leaves behind with its timeout is no error of the sweep.
    client.loop.asyncio_loop.set_exception_handler(lambda _loop, _context: None)
    with client:
        files = _send_files(client, jobs)
        futures = {
            client.submit(
                _run_on_worker,
                job,
                list(command),
                {digest: files[digest] for digest, _ in job.files},
                key=f"anabranch-{job.key}",
            ): job
            for job in jobs
        }
        waiting = _Waiting(client, address, say)
        completed = as_completed(list(futures))
        done = 0
        while futures:
            if not completed.has_ready():
                waiting.look()
                time.sleep(POLL_SECONDS)
                continue
            future = next(completed)
            job = futures.pop(future)
            write_files(job, _result(future, job, address))
            future.release()
            done += 1
            watch(done, ())


class _Waiting:
    """Warns the user that there is no worker, once each time."""

    def __init__(self, client: Any, address: str, say: Say) -> None:
        self._client, self._address, self._say = client, address, say
        self._next = 0.0
        self._is_announced = False

    def look(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + WORKERS_SECONDS
        workers = None
        # If the scheduler is lost, the cells say so.
        with suppress(OSError, ValueError):
            workers = self._client.scheduler_info()["workers"]
        if workers is None or workers:
            self._is_announced = False
        elif not self._is_announced:
            self._is_announced = True
            self._say(f"dask: {self._address}: no workers; waiting: start some with `dask worker {self._address}`")


def _send_files(client: Any, jobs: Sequence[Job]) -> dict[str, Any]:
    """Sends the files that scenarios name, each once, by digest.

    They are results of tasks rather than scattered data: a worker that dies with one takes it with it, and a task runs
    again.
    """
    paths = {digest: path for job in jobs for digest, path in job.files}
    return {
        digest: client.submit(_content, Path(path).read_bytes(), key=f"anabranch-file-{digest}")
        for digest, path in paths.items()
    }


def _content(content: bytes) -> bytes:
    return content


def _run_on_worker(job: Job, command: Sequence[str], contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Runs a cell; an error says on which worker."""
    from distributed import get_worker

    try:
        return run_away(job, command, contents)
    except AnabranchError as error:
        raise AnabranchError(f"worker {get_worker().address}: {error}") from None


def _result(future: Any, job: Job, address: str) -> dict[str, bytes]:
    from distributed import KilledWorker

    try:
        files: dict[str, bytes] = future.result()
    except AnabranchError as error:
        raise AnabranchError(f"dask: {error}") from None
    except KilledWorker as error:
        deaths = error.allowed_failures + 1
        raise AnabranchError(
            f"dask: {address}: at {job.words}: {deaths} worker{'s' * (deaths > 1)} died with this cell, the last of "
            f"them {error.last_worker.address}; hint: give workers more memory, and read what they printed"
        ) from None
    except CancelledError as error:
        reason = getattr(error, "reason", None) or "cancelled"
        raise AnabranchError(
            f"dask: {address}: at {job.words}: {reason}; hint: what is complete stays, and the same command runs the "
            "rest once the scheduler is there"
        ) from None
    except Exception as error:
        raise AnabranchError(
            f"dask: {address}: at {job.words}: {type(error).__name__}: {error}; hint: install the same version of "
            "anabranch and of Python's packages on every worker"
        ) from None
    return files
