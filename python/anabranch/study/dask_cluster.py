"""Cells on a Dask cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch._core import AnabranchError
from anabranch.study.job import Job, run_away, write_files
from anabranch.study.local import Watch

CONNECT_SECONDS = 10


def run_on_cluster(address: str, jobs: Sequence[Job], command: Sequence[str], watch: Watch) -> None:
    """Sends every cell to the scheduler at `address` and writes each folder here as its cell comes back.

    A cell whose worker dies is sent to another one.

    Raises:
        AnabranchError: Dask is not installed, nobody answers, or a cell cannot be run.

    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise AnabranchError(
            f"dask: {address}: the package distributed is not installed; pip install 'anabranch[dask]'"
        ) from None
    try:
        client: Any = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise AnabranchError(
            f"dask: {address}: no scheduler answers ({error}); start one with `dask scheduler`, and give its address"
        ) from None
    with client:
        futures = {client.submit(run_away, job, list(command), key=f"anabranch-{job.identity}"): job for job in jobs}
        for done, (future, files) in enumerate(as_completed(list(futures), with_results=True), 1):
            write_files(futures.pop(future), files)
            future.release()
            watch(done, ())
