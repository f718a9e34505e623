"""Copies of a splitter: its plan, its state and its history, and from then on their own."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import anabranch as ab

TECHNIQUES = [row.name for row in ab.techniques()]
KEYS = np.random.default_rng(38).integers(0, 2**64, 6_000, dtype=np.uint64)


class Named(ab.Splitter):
    """A splitter with something of its own, and something that leads back to it."""

    labels: list[str]
    itself: ab.Splitter


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_goes_on_by_itself(technique: str, copied: object) -> None:
    assert callable(copied)
    first, later = np.split(KEYS, 2)
    origin, twin = (ab.Splitter(technique, [4, 3, 2]) for _ in range(2))
    for splitter in (origin, twin):
        splitter.update(weights=[3, 3, 3])
        splitter.pick(first)
    other = copied(origin)
    assert (other.technique, other.granularity) == (origin.technique, origin.granularity)
    assert np.array_equal(other.asked(), origin.asked())
    # What it knows is what its origin knew ...
    assert np.array_equal(copied(origin).pick(later), copied(twin).pick(later))
    # ... and what it learns and becomes is its own.
    other.update(weights=[1, 1, 1, 90])
    other.pick(later)
    assert origin.asked().size == 3
    assert np.array_equal(origin.pick(later), twin.pick(later))
    assert other.asked().size == 4


def test_the_history_goes_with_the_copy() -> None:
    # Its weights alone would give another table: min-move keeps what it can of the one before.
    origin = ab.Splitter("min-move", [4, 3, 2])
    origin.update(weights=[1, 9, 3])
    fresh = ab.Splitter("min-move", [1, 9, 3])
    assert np.array_equal(copy.copy(origin).pick(KEYS), origin.pick(KEYS))
    assert not np.array_equal(fresh.pick(KEYS), origin.pick(KEYS))


def test_copies_of_a_subclass_keep_what_is_its_own() -> None:
    origin = Named("wrr", [1, 1])
    origin.labels = ["a", "b"]
    origin.itself = origin
    shallow, deep = copy.copy(origin), copy.deepcopy(origin)
    assert type(shallow) is type(deep) is Named
    assert shallow.labels is origin.labels
    assert deep.labels == origin.labels
    assert deep.labels is not origin.labels
    assert deep.itself is deep
    assert shallow.core is not origin.core
    assert copy.deepcopy([origin, origin])[0] is not origin


def test_an_update_of_nothing_changes_nothing() -> None:
    # wfq begins its counts anew with each plan.
    splitter, twin = (ab.Splitter("wfq", [1, 1, 1]) for _ in range(2))
    for one in (splitter, twin):
        one.pick(KEYS[:100])
    splitter.update()
    assert np.array_equal(splitter.pick(KEYS[100:200]), twin.pick(KEYS[100:200]))


def test_the_module_shows_its_own_names_only() -> None:
    assert set(dir(ab)) == set(ab.__all__)
    assert not {"Any", "TYPE_CHECKING", "import_module", "annotations"} & set(dir(ab))
