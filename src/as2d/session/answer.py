"""From the records of the windows to the result of the request. Pure."""

from collections.abc import Sequence

from as2d.decoding.tally import Tally
from as2d.models.contract import AudioModel
from as2d.records import SAMPLE_RATE, FinishReason, Method, Result, Segment, SourceStats, Stats, UsedMethod
from as2d.runtime.window import WindowRecord

_BY_WEIGHT: tuple[FinishReason, ...] = ("repetition", "length", "stop")


def make_result(
    target: AudioModel,
    records: Sequence[WindowRecord],
    *,
    method: Method,
    exact: bool,
    samples: int,
    wall_ms: float,
    warnings: Sequence[str],
    configuration: str | None = None,
) -> Result:
    """The answer for a recording of `samples` samples. No window with speech gives an empty text.

    `method` is the one asked for; `exact` is whether drafting is, should somebody have drafted. `configuration` names
    what was tuned and used.
    """
    used = _used(method, records)
    segments = tuple(_segment(target, record) for record in records)
    reason = _finish_reason(records)
    sources = _sources(records)
    return Result(
        text="".join(target.vocabulary.decode(segment.tokens) for segment in segments).strip(),
        language=_language(records),
        duration_s=samples / SAMPLE_RATE,
        tokens=tuple(token for segment in segments for token in segment.tokens),
        segments=segments,
        method=used,
        exact=exact or used == "target-only",
        finish_reason=reason,
        truncated=reason in ("length", "repetition"),
        warnings=(*warnings, *_drafter_warnings(records, method), *_switch_off_warnings(records, sources)),
        stats=_stats(records, wall_ms),
        sources=sources,
        configuration=configuration,
    )


def _used(method: Method, records: Sequence[WindowRecord]) -> UsedMethod:
    if method != "auto":
        return method
    return "as2d" if any(record.drafted for record in records) else "target-only"


def _segment(target: AudioModel, record: WindowRecord) -> Segment:
    tokens = useful_tokens(target, record)
    text = target.vocabulary.decode(tokens).strip()
    return Segment(record.start / SAMPLE_RATE, record.end / SAMPLE_RATE, text, tokens)


def useful_tokens(target: AudioModel, record: WindowRecord) -> tuple[int, ...]:
    """The committed tokens but the end id."""
    tokens = (token for commit in record.commits for token in commit.tokens)
    return tuple(token for token in tokens if token not in target.end_ids)


def _finish_reason(records: Sequence[WindowRecord]) -> FinishReason:
    """The weightiest of the windows' reasons."""
    reasons = {record.commits[-1].finish_reason for record in records}
    return next((reason for reason in _BY_WEIGHT if reason in reasons), "no_speech")


def _language(records: Sequence[WindowRecord]) -> str | None:
    """The language of most windows, the earliest of equals."""
    languages = [record.language for record in records]
    return max(languages, key=languages.count) if languages else None


def _drafter_warnings(records: Sequence[WindowRecord], method: Method) -> list[str]:
    faults = [
        f"the drafter {source.name} failed, which cost only time: {source.fault}"
        for record in records
        for source in record.sources
        if source.fault
    ]
    silent = [record.language for record in records if not (record.drafted or record.faults)]
    if method not in ("auto", "target-only") and silent:
        languages = ", ".join(dict.fromkeys(language or "an unknown language" for language in silent))
        faults.append(f"no drafter for {languages}: the target decoded windows alone ({len(silent)})")
    return list(dict.fromkeys(faults))


def _switch_off_warnings(records: Sequence[WindowRecord], sources: Sequence[SourceStats]) -> list[str]:
    return [
        f"the drafter {source.name} was switched off in {source.switched_off} of {source.windows} windows: "
        f"{_accepted_a_round(records, index):.1f} accepted tokens a round"
        for index, source in enumerate(sources)
        if source.switched_off
    ]


def _accepted_a_round(records: Sequence[WindowRecord], source: int) -> float:
    """Of the windows in which the source was switched off, up to where it was."""
    rounds = [
        commit.accepted if commit.source == source else 0
        for record in records
        if (end := _switched_off_at(record, source)) is not None
        for commit in record.commits[: end + 1]
    ]
    return sum(rounds) / len(rounds)


def _switched_off_at(record: WindowRecord, source: int) -> int | None:
    rounds = (index for index, commit in enumerate(record.commits) if source in commit.switched_off)
    return next(rounds, None)


def _sources(records: Sequence[WindowRecord]) -> tuple[SourceStats, ...]:
    """What each source did in all windows; the same sources in each, as they are the session's."""
    names = [source.name for source in records[0].sources] if records else []
    return tuple(_source_stats(name, index, records) for index, name in enumerate(names))


def _source_stats(name: str, index: int, records: Sequence[WindowRecord]) -> SourceStats:
    tally = Tally.of(commit for record in records for commit in record.commits if commit.source == index)
    return SourceStats(
        name=name,
        proposed=tally.proposed,
        accepted=tally.accepted,
        windows=sum(record.sources[index].drafted for record in records),
        switched_off=sum(_switched_off_at(record, index) is not None for record in records),
        fault=next((fault for record in records if (fault := record.sources[index].fault)), None),
    )


def _stats(records: Sequence[WindowRecord], wall_ms: float) -> Stats:
    tally = Tally.of(commit for record in records for commit in record.commits)
    decode_ms = sum(record.decode_ms for record in records)
    return Stats(
        encode_ms=sum(record.encode_ms for record in records),
        decode_ms=decode_ms,
        producer_done_ms=sum(record.producer_done_ms for record in records),
        wall_ms=wall_ms,
        decode_tok_s=1000 * tally.useful / decode_ms if decode_ms else 0.0,
        rounds=tally.rounds,
        proposed=tally.proposed,
        accepted=tally.accepted,
        coverage=tally.accepted / tally.useful if tally.useful else 0.0,
        k1_rounds=tally.k1_rounds,
    )
