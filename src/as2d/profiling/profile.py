"""The profile: what was measured, with which models, on which machine; and its file.

A file that is damaged, incomplete or made by a newer as2d is refused. Times are milliseconds.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from as2d.errors import InputError
from as2d.profiling.plan import Other, Plan, Point, in_words, points

SCHEMA = 1
"""Of the file; raised with every change that old readers cannot bear."""

_AGAIN = "measure again with `as2d profile`"


class Timing(NamedTuple):
    """The median of the repetitions, and half their interquartile range."""

    ms: float
    spread_ms: float
    repetitions: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides how long a call takes, besides the models: `cores` are those that the process may use, `cpu` the
    processor's model and vector features."""

    host: str
    cores: int
    cpu: str
    engine: str
    as2d: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One machine's costs of a target and its drafters.

    `models` maps each name to the model's identity, `audio` says what was heard. `overheads` are what a round costs
    besides the models (`as2d.profiling.overheads`); `memory_mb` is what each model adds to the peak of the process, as
    far as the system tells.
    """

    date: str
    machine: Machine
    models: Mapping[str, str]
    audio: str
    plan: Plan
    timings: Mapping[Point, Timing] = field(default_factory=dict)
    overheads: Mapping[str, Timing] = field(default_factory=dict)
    memory_mb: Mapping[str, float] = field(default_factory=dict)

    @property
    def noise(self) -> float:
        """The median, over all points, of spread / time."""
        shares = [timing.spread_ms / timing.ms for timing in self.timings.values() if timing.ms]
        return median(shares) if shares else 0.0

    @property
    def missing(self) -> tuple[Point, ...]:
        """What the plan wants and nobody has timed yet."""
        return tuple(point for point in points(self.plan) if point not in self.timings)


class _BadError(Exception):
    """What is wrong with a file, without its name and the remedy."""


def save_profile(profile: Profile, path: Path) -> None:
    """Write the file, whole or not at all. InputError where it cannot be written."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(_to_json(profile), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"cannot write {path} ({error.strerror}); name another file") from error


def load_profile(path: Path, *, partial: bool = False) -> Profile:
    """The profile in a file. InputError for one that is damaged, newer, no profile, or incomplete unless `partial`."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); write it with `as2d profile`") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no profile; {_AGAIN}") from error
    try:
        profile = _from_json(text)
        if not partial:
            _require_complete(profile)
    except _BadError as error:
        raise InputError(f"{path} {error}") from error
    return profile


def _to_json(profile: Profile) -> str:
    """A timing a line, so that files can be compared."""
    head = {
        "schema": SCHEMA,
        "date": profile.date,
        "machine": asdict(profile.machine),
        "models": dict(profile.models),
        "audio": profile.audio,
        "noise": round(profile.noise, 4),
        "plan": asdict(profile.plan),
        "overheads": {name: timing._asdict() for name, timing in profile.overheads.items()},
        "memory_mb": dict(profile.memory_mb),
    }
    timings = ",\n".join(json.dumps(_record(*item)) for item in profile.timings.items())
    return f'{json.dumps(head, indent=1)[:-2]},\n "timings": [\n{timings}\n]}}\n'


def _record(point: Point, timing: Timing) -> dict[str, Any]:
    beside = point.beside._asdict() if point.beside else None
    return {**point._asdict(), "beside": beside, **timing._asdict()}


def _from_json(text: str) -> Profile:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        state = "is damaged" if text.strip() else "is empty"
        raise _BadError(f"{state}; {_AGAIN}") from error
    match value:
        case {"schema": int(schema), "plan": _} if schema > SCHEMA:
            raise _BadError(f"has schema {schema}, which is newer than {SCHEMA}; update as2d, or {_AGAIN}")
        case {
            "schema": int(schema),
            "date": str(date),
            "machine": dict(machine),
            "models": dict(models),
            "audio": str(audio),
            "plan": dict(plan),
            "overheads": dict(overheads),
            "memory_mb": dict(memory),
            "timings": list(timings),
        } if schema == SCHEMA:
            planned = _plan(plan)
            return Profile(
                date,
                _machine(machine),
                _models(models, planned),
                audio,
                planned,
                dict(_timed_point(record) for record in timings),
                {name: _timing(record, name) for name, record in overheads.items()},
                {name: _positive(mb, f"the memory of {name}") for name, mb in memory.items()},
            )
    raise _BadError(f"is no profile; {_AGAIN}")


def _machine(value: Mapping[str, object]) -> Machine:
    match value:
        case {
            "host": str(host),
            "cores": int(cores),
            "cpu": str(cpu),
            "engine": str(engine),
            "as2d": str(as2d),
        }:
            return Machine(host, cores, cpu, engine, as2d)
    raise _BadError(f"does not say which machine it is of; {_AGAIN}")


def _models(value: Mapping[str, object], plan: Plan) -> dict[str, str]:
    names = (plan.target, *plan.drafters)
    if set(value) != set(names):
        raise _BadError(f"does not say which models {', '.join(names)} are; {_AGAIN}")
    return {name: _text(identity) for name, identity in value.items()}


def _plan(value: Mapping[str, object]) -> Plan:
    match value:
        case {
            "threads": int(threads),
            "target": str(target),
            "drafters": list(drafters),
            "sharing": list(sharing),
            "widest": int(widest),
            "contexts": list(contexts),
            "audio_s": list(audio_s),
        } if threads > 0:
            return Plan(
                threads,
                target,
                tuple(map(_text, drafters)),
                tuple(map(_text, sharing)),
                _count(widest),
                tuple(map(_count, contexts)),
                tuple(_positive(seconds, "an audio length") for seconds in audio_s),
            )
    raise _BadError(f"does not say what was timed; {_AGAIN}")


def _timed_point(value: object) -> tuple[Point, Timing]:
    match value:
        case {
            "doing": "encode" | "open" | "forward" as doing,
            "model": str(model),
            "cores": int(cores),
            "audio_s": float(audio_s),
            "context": int(context),
            "width": int(width),
            "beside": beside,
        }:
            point = Point(doing, model, cores, audio_s, context, width, _other(beside))
            return point, _timing(value, describe(point))
    raise _BadError(f"holds {value!r}, which is no timing; {_AGAIN}")


def _other(value: object) -> Other | None:
    match value:
        case None:
            return None
        case {"model": str(model), "cores": int(cores), "width": int(width)}:
            return Other(model, cores, width)
    raise _BadError(f"holds {value!r}, which no model does; {_AGAIN}")


def _timing(value: object, what: str) -> Timing:
    match value:
        case {"ms": ms, "spread_ms": spread_ms, "repetitions": repetitions}:
            spread = _not_negative(spread_ms, f"the spread of {what}")
            return Timing(_positive(ms, what), spread, _count(repetitions))
    raise _BadError(f"has no time for {what}; {_AGAIN}")


def _positive(value: object, what: str) -> float:
    if number := _not_negative(value, what):
        return number
    raise _BadError(f"says 0 for {what}, which cannot be; {_AGAIN}")


def _not_negative(value: object, what: str) -> float:
    if isinstance(value, int | float) and isfinite(value) and value >= 0:
        return float(value)
    raise _BadError(f"says {value!r} for {what}, which cannot be; {_AGAIN}")


def _count(value: object) -> int:
    if isinstance(value, int) and value > 0:
        return value
    raise _BadError(f"says {value!r} where a number from 1 up must be; {_AGAIN}")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _BadError(f"says {value!r} where a name must be; {_AGAIN}")


def _require_complete(profile: Profile) -> None:
    if missing := profile.missing:
        more = f" and {len(missing) - 1} other calls" if len(missing) > 1 else ""
        raise _BadError(f"lacks {describe(missing[0])}{more}; {_AGAIN}")


def describe(point: Point) -> str:
    """The point in words."""
    what = f"{point.doing} of {point.model}"
    if point.doing == "forward":
        what += f" at width {point.width} and context {point.context}"
    what += f" on {in_words(point.cores)} with {point.audio_s:g} s of audio"
    if point.beside is None:
        return what
    return f"{what} beside {point.beside.model}"
