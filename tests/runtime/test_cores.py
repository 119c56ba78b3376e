"""How cores are shared."""

import pytest

from as2d.errors import InputError
from as2d.runtime.cores import available_cores, split_cores


@pytest.mark.parametrize(
    ("threads", "beside"), [(1, (1, 1, 1, 1)), (2, (2, 1, 1, 1)), (3, (3, 2, 1, 1)), (8, (8, 7, 6, 5))]
)
def test_each_source_has_one_core_and_the_target_never_none(threads: int, beside: tuple[int, ...]) -> None:
    cores = split_cores(threads)
    assert tuple(cores.cores_for(drafting) for drafting in range(4)) == beside
    assert cores.counts(3) == tuple(sorted(set(beside)))
    assert cores.counts(0) == (threads,)
    assert cores.alone == beside[0]


def test_a_source_may_have_more_cores() -> None:
    cores = split_cores(8, 3)
    assert (cores.drafter, *(cores.cores_for(drafting) for drafting in range(4))) == (3, 8, 5, 2, 1)
    assert split_cores(2, 2).counts(1) == (1, 2)


@pytest.mark.parametrize("drafter", [0, -1, 3])
def test_a_drafter_without_cores_or_with_too_many_is_refused(drafter: int) -> None:
    with pytest.raises(InputError, match="use 1 to 2"):
        split_cores(2, drafter)


@pytest.mark.parametrize("threads", [0, -1])
def test_no_cores_are_refused(threads: int) -> None:
    with pytest.raises(InputError, match="1 or more"):
        split_cores(threads)


def test_the_process_has_cores() -> None:
    assert available_cores() >= 1
