"""A whole profile: all points, overheads and memory, kept when interrupted and then continued."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from logging import getLogger
from pathlib import Path
from platform import node

from as2d._version import __version__
from as2d.engines.onnxruntime import cpu_fingerprint
from as2d.errors import InputError
from as2d.profiling.bench import Bench
from as2d.profiling.measure import Rule, measure
from as2d.profiling.overheads import measure_overheads
from as2d.profiling.plan import Plan, Point, points
from as2d.profiling.profile import Machine, Profile, Timing, load_profile, save_profile
from as2d.profiling.subjects import Subjects
from as2d.runtime.cores import available_cores

Progress = Callable[[Point], None]
"""Told of each point once it is timed; of those that an earlier call timed, at once."""

_log = getLogger(__name__)


def this_machine() -> Machine:
    """The machine that this process runs on."""
    fingerprint = cpu_fingerprint()
    return Machine(node(), available_cores(), fingerprint["cpu"], fingerprint["engine"], __version__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A profile to measure: `audio` says what the bench hears, `memory` measures the peak of each model, in MB."""

    plan: Plan
    audio: str
    memory: Callable[[], Mapping[str, float]]
    rule: Rule = field(default_factory=Rule)


def profile_machine(bench: Bench, wanted: Wanted, out: Path, progress: Progress) -> Profile:
    """Measure and write `out`.

    What is measured when it is interrupted or fails goes to `out` with ".partial" behind; a later call with the same
    models on the same machine goes on from there. InputError where nothing can be written.
    """
    _require_folder(out)
    partial = out.with_name(f"{out.name}.partial")
    profile = _begun(partial, _blank(bench.subjects, wanted))
    timings = dict(profile.timings)
    try:
        for point in timings:
            progress(point)
        with closing(measure(bench, profile.missing, wanted.rule)) as measured:
            for point, timing in measured:
                timings[point] = timing
                progress(point)
        profile = _finished(bench, wanted, replace(profile, timings=timings))
    except BaseException:
        save_profile(replace(profile, timings=timings), partial)
        raise
    save_profile(profile, out)
    partial.unlink(missing_ok=True)
    return profile


def _require_folder(out: Path) -> None:
    if not out.absolute().parent.is_dir():
        raise InputError(f"there is no folder {out.absolute().parent}; make it, or name another file")


def _blank(subjects: Subjects, wanted: Wanted) -> Profile:
    models = {name: model.identity for name, model in subjects.models.items()}
    return Profile(_now(), this_machine(), models, wanted.audio, wanted.plan)


def _begun(partial: Path, blank: Profile) -> Profile:
    """The blank profile with what an earlier call timed, if that was the same on the same machine."""
    if not partial.exists():
        return blank
    try:
        earlier = load_profile(partial, partial=True)
    except InputError as error:
        _log.info("begins anew: %s", error)
        return blank
    if replace(earlier, date=blank.date, timings={}) != blank:
        _log.info("begins anew: %s is of another machine, model or plan", partial)
        return blank
    return replace(blank, timings=_in_order(blank.plan, earlier.timings))


def _in_order(plan: Plan, timings: Mapping[Point, Timing]) -> dict[Point, Timing]:
    return {point: timings[point] for point in points(plan) if point in timings}


def _finished(bench: Bench, wanted: Wanted, profile: Profile) -> Profile:
    plan = profile.plan
    decoder = bench.decoder(plan.target, plan.threads, plan.audio_s[0], plan.contexts[0])
    overheads = measure_overheads(decoder, bench.subjects.target.vocabulary.size)
    return replace(
        profile,
        date=_now(),
        timings=_in_order(plan, profile.timings),
        overheads=overheads,
        memory_mb=dict(wanted.memory()),
    )


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
