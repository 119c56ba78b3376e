"""What the target alone says in a window: the tokens that every exact method must give."""

from threading import Event

import numpy as np
from numpy.typing import NDArray

from as2d.models.contract import AudioModel
from as2d.records import Instruction
from as2d.runtime.pair import Pair, SpeechWindow
from as2d.runtime.window import Decoding, run_window
from as2d.session.answer import useful_tokens

_ALONE = Decoding("target-only", 0, "word", any_language=False)


class TargetAlone:
    """Decodes windows, no matter how they were cut."""

    def __init__(self, target: AudioModel, cores: int) -> None:
        """On all `cores`."""
        self._pair = Pair(target, None, cores)

    def tokens(self, samples: NDArray[np.float32], instruction: Instruction) -> tuple[int, ...]:
        """The useful tokens of one window, mono at 16 kHz. Without a language it is detected."""
        run = run_window(self._pair, SpeechWindow(0, samples), instruction, _ALONE, Event())
        while True:
            try:
                next(run)
            except StopIteration as stop:
                return useful_tokens(self._pair.target, stop.value)
