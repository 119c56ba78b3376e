"""What the clients of a soak do: drawn at random, one action after the other. Pure."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from as2d.decoding.methods import TRAITS
from as2d.evaluation.corpora import Clip
from as2d.records import METHODS, Method, SpeechTask
from as2d.runtime.exactness import MAX_BUDGET
from as2d.session.session import OptionFields

Kind = Literal["answer", "prepared", "cancel", "leave", "deadline", "live", "session"]
"""answer: wait for it; prepared: of audio that was prepared before; cancel: after a moment; leave: stop watching the
commits; deadline: with a short one; live: fed bit by bit, with requests meanwhile; session: one of its own."""

_WEIGHTS: dict[Kind, int] = {
    "answer": 8,
    "prepared": 3,
    "cancel": 3,
    "leave": 2,
    "deadline": 2,
    "live": 3,
    "session": 1,
}
KINDS: tuple[Kind, ...] = get_args(Kind)
_LONGEST_DELAY_S = 0.6


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do with a clip. `delay_s` is the time to a cancel or deadline, `seed` draws what happens inside."""

    kind: Kind
    clip: Clip
    options: OptionFields
    delay_s: float
    seed: int


def draw_action(draw: random.Random, clips: Sequence[Clip], tasks: Sequence[SpeechTask]) -> Action:
    """Any kind of action on any clip with any method; `tasks` are the target's."""
    kind = draw.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
    clip = draw.choice(clips)
    language = clip.language or None
    options: OptionFields = {
        "task": "translate" if "translate" in tasks and draw.random() < 0.15 else "transcribe",
        "language": language if draw.random() < 0.5 else None,
        **_method(draw),
    }
    return Action(kind, clip, options, draw.uniform(0, _LONGEST_DELAY_S), draw.getrandbits(32))


def every_method(clip: Clip) -> list[OptionFields]:
    """A request of each method, in which whoever can draft does, so that a warm-up loads all there is."""
    methods: tuple[Method, ...] = ("auto", *METHODS)
    language = clip.language or None
    return [{"method": method, "language": language, "any_language": True} for method in methods]


def _method(draw: random.Random) -> OptionFields:
    """Half of the requests are AS²D; each has what its method allows."""
    methods: tuple[Method, ...] = ("auto", *METHODS)
    method = "as2d" if draw.random() < 0.5 else draw.choice(methods)
    options: OptionFields = {"method": method}
    traits = TRAITS["as2d" if method == "auto" else method]
    if traits.budget and draw.random() < 0.7:
        options["budget"] = draw.randint(1, MAX_BUDGET)
    if traits.batch and draw.random() < 0.3:
        options["batch"] = draw.randint(1, 8)
    if traits.resync and draw.random() < 0.3:
        options["resync"] = True
    if draw.random() < 0.2:
        options["any_language"] = True
    return options
