from collections import Counter

import pytest

from as2d.evaluation.process import Holdings
from as2d.evaluation.soak.watch import MOST_GROWTH_MB, Reading, growth_mb, leaks

AT_FIRST = Holdings(500.0, 9, Counter({"MainThread": 1, "as2d-session": 2}), Counter({"pipe": 3}))


def reading(minutes: float, memory_mb: float | None = 500.0, **more: object) -> Reading:
    held = {"native_threads": 9, "threads": AT_FIRST.threads, "files": AT_FIRST.files} | more
    return Reading(minutes, Holdings(memory_mb, **held))  # type: ignore[arg-type]


FLAT = [reading(minute, 500.0 + (minute % 2)) for minute in range(6)]


def test_a_flat_run_has_no_leak() -> None:
    assert leaks(FLAT) == []
    assert leaks([reading(minute, None) for minute in range(6)]) == []


def test_less_than_at_first_is_no_leak() -> None:
    assert leaks([*FLAT, reading(6, 400, native_threads=8, files=Counter({"pipe": 2}))]) == []


def test_a_leaked_thread_is_named() -> None:
    more = AT_FIRST.threads + Counter({"as2d-producer": 1})
    (found,) = leaks([*FLAT, reading(6, threads=more, native_threads=10)])
    assert found == "threads: 3 after warm-up, 4 at the end; more 1 of as2d-producer"


def test_a_leaked_native_thread_is_found() -> None:
    assert leaks([*FLAT, reading(6, native_threads=10)]) == ["native threads: 9 after warm-up, 10 at the end"]


def test_a_leaked_file_is_named() -> None:
    (found,) = leaks([*FLAT, reading(6, files=AT_FIRST.files + Counter({"/tmp/a.wav": 2}))])
    assert found == "files: 3 after warm-up, 5 at the end; more 2 of /tmp/a.wav"


def test_growing_memory_is_found_and_an_outlier_is_not() -> None:
    each = MOST_GROWTH_MB / 5 + 1
    growing = [reading(minute, 500 + each * minute) for minute in range(6)]
    assert leaks(growing) == [f"memory grew by {5 * each:.0f} MB in 5.0 min"]
    outlier = [*FLAT[:3], reading(3, 900), *FLAT[4:]]
    assert leaks(outlier) == []
    assert growth_mb(outlier) == pytest.approx(0, abs=5)
