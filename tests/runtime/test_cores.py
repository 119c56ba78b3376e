"""How cores are shared."""

import pytest

from as2d.errors import InputError
from as2d.runtime.cores import available_cores, split_cores


@pytest.mark.parametrize(("threads", "split"), [(1, (1, 1)), (2, (1, 2)), (3, (2, 3)), (8, (7, 8))])
def test_the_drafter_has_one_core_and_the_target_never_none(threads: int, split: tuple[int, int]) -> None:
    assert split_cores(threads) == split


@pytest.mark.parametrize("threads", [0, -1])
def test_no_cores_are_refused(threads: int) -> None:
    with pytest.raises(InputError, match="1 or more"):
        split_cores(threads)


def test_the_process_has_cores() -> None:
    assert available_cores() >= 1
