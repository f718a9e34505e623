"""A simulation that asks an agent: it runs in a thread of its own and waits for each answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any

from anabranch._core import Progress, Run


@dataclass(frozen=True)
class Question:
    """A decision to make: what is seen of it."""

    seen: Any


@dataclass(frozen=True)
class Ended:
    """The end of the simulation."""

    run: Run | None
    error: BaseException | None


class Stopped(Exception):  # noqa: N818
    """Leaves the simulation, because nobody will answer."""


class Dialogue:
    """One simulation. `answer` passes the answer to the last question and waits for the next, or for the end."""

    def __init__(self, simulate: Callable[[Dialogue], Run]) -> None:
        self.progress = Progress()
        self._simulate = simulate
        self._questions: SimpleQueue[Question | Ended] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._thread = Thread(target=self._run, name="environment", daemon=True)

    def begin(self) -> Question | Ended:
        """Starts the simulation and waits for its first question."""
        self._thread.start()
        return self._questions.get()

    def answer(self, value: Any) -> Question | Ended:
        """Answers the last question and waits for the next one."""
        self._answers.put(value)
        return self._questions.get()

    def ask(self, seen: Any) -> Any:
        """Asks from within the simulation, and waits for the answer.

        Raises:
            Stopped: nobody will answer.

        """
        self._questions.put(Question(seen))
        answer = self._answers.get()
        if isinstance(answer, Stopped):
            raise answer
        return answer

    def stop(self) -> None:
        """Ends the simulation if it still runs."""
        if self._thread.is_alive():
            self.progress.cancel()
            self._answers.put(Stopped())
            self._thread.join()

    def _run(self) -> None:
        run, error = None, None
        try:
            run = self._simulate(self)
        except BaseException as raised:  # It is raised again where the agent waits.
            error = raised
        self._questions.put(Ended(run, error))
