"""Measuring on toy models and real audio: every run exactly once, whatever interrupts it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import sleep

import pytest

from as2d.evaluation.contender import Contender
from as2d.evaluation.corpora import Asking, Clip, Piece
from as2d.evaluation.measuring.codec import from_json
from as2d.evaluation.measuring.condense import Source
from as2d.evaluation.measuring.journal import Journal, Setup, read_clips, read_rows
from as2d.evaluation.measuring.lineup import Decoded, Lineup, Prepared
from as2d.evaluation.measuring.runner import DRAWN_WINDOWS, Procedure, Runner, rotated
from as2d.evaluation.peers.contract import Float32, Peer
from as2d.evaluation.rows import Row, Run
from as2d.models.contract import AudioModel
from as2d.records import Instruction

Toy = Callable[..., AudioModel]
TEXT = "and so my fellow americans ask not what"
REFERENCE = Contender("target-only", 2)
PLAN = (
    REFERENCE,
    Contender("target-only", 1),
    Contender("as2d", 2, "near", 3),
    Contender("as2d", 2, "german", 3),
    Contender("as2d", 2, "near+german", 3),
)
SETUP = Setup(1, "abc", "digest", "cpu", {}, {}, tuple(contender.key for contender in PLAN), (), {})


def saying(text: str) -> Callable[[Sequence[int]], int]:
    """Says it, and takes its time."""
    answer = (*text.encode(), 256)

    def step(prefix: Sequence[int]) -> int:
        sleep(0.0003)
        return answer[len(prefix)] if len(prefix) < len(answer) else 256

    return step


class Interrupting:
    """A contender during whose n-th decode Ctrl-C is pressed."""

    exact = True

    def __init__(self, entrant: object, countdown: list[int]) -> None:
        self.takes_part = entrant.takes_part  # type: ignore[attr-defined]
        self._decode: Callable[[Prepared], Decoded] = entrant.decode  # type: ignore[attr-defined]
        self._countdown = countdown

    def decode(self, window: Prepared) -> Decoded:
        decoded = self._decode(window)
        self._countdown[0] -= 1
        if not self._countdown[0]:
            raise KeyboardInterrupt
        return decoded


class Mute:
    """A peer that cannot do anything."""

    name = "mute"

    def prepare(self, samples: Float32) -> None:
        raise RuntimeError("no voice")

    def decode(self, prepared: None, instruction: Instruction, limit: int) -> tuple[int, ...]:
        raise AssertionError


class Bench:
    """A bench in a folder that can be run again and again."""

    def __init__(self, folder: Path, clips: list[Clip], toy: Toy) -> None:
        self.folder = folder
        self.clips = clips
        self.peers: tuple[Peer, ...] = ()
        self._target = toy(saying(TEXT), languages=("en", "de"))
        self._drafters = {
            "near": toy(saying(TEXT[:30]), languages=("en", "de")),
            "german": toy(saying(TEXT), languages=("de",)),
        }

    def run(self, *, interrupt_at: int = 0, procedure: Procedure = Procedure(2, 0)) -> bool:  # noqa: B008
        """Whether it came to the end."""
        lineup = Lineup(self._target, self._drafters, self.peers, PLAN, 2)
        countdown = [interrupt_at]
        lineup.entrants = {key: Interrupting(entrant, countdown) for key, entrant in lineup.entrants.items()}
        with Journal(self.folder, SETUP) as journal:
            runner = Runner(lineup, REFERENCE, Source("abc", "host", {}, "digest"), procedure, journal)
            try:
                for clip in self.clips:
                    if not journal.is_done(clip.name):
                        list(runner.measure(clip, Asking().about(clip)))
            except KeyboardInterrupt:
                return False
        return True

    @property
    def runs(self) -> list[Run]:
        return [from_json(Run, line) for line in (self.folder / "runs.jsonl").read_text().splitlines()]

    @property
    def rows(self) -> Mapping[tuple[str, str], Row]:
        rows = read_rows(self.folder, pytest.fail)
        assert len({(row.window, row.contender) for row in rows}) == len(rows)
        return {(row.window, row.contender): row for row in rows}


@pytest.fixture
def bench(tmp_path: Path, clips: Mapping[str, Path], toy: Toy) -> Bench:
    names = {"jfk": "en", "fleurs-de-003": "de"}
    chosen = [
        Clip(name, clips[name], "read", language, f"said in {name}", 1.0, doubtful=language == "de")
        for name, language in names.items()
    ]
    return Bench(tmp_path / "out", chosen, toy)


EXPECTED = {
    (window, contender.key, repetition)
    for window, contenders in {"jfk#0": PLAN[:3], "fleurs-de-003#0": PLAN}.items()
    for contender in contenders
    for repetition in range(2)
}


def test_every_contender_that_speaks_the_language_runs(bench: Bench) -> None:
    assert bench.run()
    assert sorted((run.window, run.contender, run.repetition) for run in bench.runs) == sorted(EXPECTED)
    assert bench.rows.keys() == {(window, contender) for window, contender, _ in EXPECTED}
    for row in bench.rows.values():
        assert row.text == TEXT
        assert row.identical
        assert row.repetitions == 2
        assert 0 < row.verify_ms <= row.decode_ms <= row.producer_done_ms <= row.call_ms
        assert (row.draft_ms > 0) == (row.method == "as2d")
        assert row.overlap_ms <= min(row.draft_ms, row.verify_ms)
        assert sum(row.widths.values()) == pytest.approx(row.rounds, abs=len(TEXT))
        assert 0 < row.end_s - row.start_s < 30
    assert bench.rows["fleurs-de-003#0", "target-only 2c"].language == "de"


def test_the_order_begins_with_another_contender_each_time(bench: Bench) -> None:
    bench.run()
    order = [(run.window, run.repetition, run.contender) for run in bench.runs]
    first = {(window, repetition): contender for window, repetition, contender in reversed(order)}
    keys = [contender.key for contender in PLAN]
    assert first["jfk#0", 0] == keys[0]
    assert first["jfk#0", 1] == keys[1]
    assert first["fleurs-de-003#0", 0] == keys[1]
    assert first["fleurs-de-003#0", 1] == keys[2]
    assert rotated([1, 2, 3], 4) == [2, 3, 1]


def test_each_contender_is_warmed_up_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    decodes: Counter[int] = Counter()
    plain = Interrupting.decode

    def counting(self: Interrupting, window: Prepared) -> Decoded:
        decodes[id(self)] += 1
        return plain(self, window)

    monkeypatch.setattr(Interrupting, "decode", counting)
    bench.run()
    assert sorted(decodes.values()) == [3, 3, 5, 5, 5]


@pytest.mark.parametrize("step", [1, 5, 11])
def test_interrupted_at_any_run_nothing_is_lost_or_done_twice(bench: Bench, step: int) -> None:
    done = 0
    for _ in range(100):
        finished = bench.run(interrupt_at=step + len(PLAN))  # the warm-up comes again each time
        assert len(bench.runs) >= done
        done = len(bench.runs)
        if finished:
            break
    assert sorted((run.window, run.contender, run.repetition) for run in bench.runs) == sorted(EXPECTED)
    assert bench.rows.keys() == {(window, contender) for window, contender, _ in EXPECTED}
    assert [record.clip for record in read_clips(bench.folder, pytest.fail)] == ["jfk", "fleurs-de-003"]


def test_what_is_done_is_not_done_again(bench: Bench) -> None:
    bench.run()
    before = {path.name: path.read_bytes() for path in bench.folder.iterdir()}
    bench.clips = [clip for clip in bench.clips for _ in range(2)]
    assert bench.run(interrupt_at=1)
    assert {path.name: path.read_bytes() for path in bench.folder.iterdir()} == before


@pytest.mark.parametrize("name", ["runs.jsonl", "windows.jsonl", "clips.jsonl"])
def test_damage_is_measured_again(bench: Bench, name: str) -> None:
    bench.run()
    path = bench.folder / name
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(["{}\n", *lines[1:]]))
    if (
        name == "runs.jsonl"
    ):  # of a window that is complete it is not missed, so another file must be damaged too
        (bench.folder / "clips.jsonl").unlink()
    assert bench.run()
    assert sorted((run.window, run.contender, run.repetition) for run in bench.runs) == sorted(EXPECTED)
    assert bench.rows.keys() == {(window, contender) for window, contender, _ in EXPECTED}


def test_a_wrong_token_is_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Interrupting.decode
    calls: Counter[int] = Counter()

    def wrong(self: Interrupting, window: Prepared) -> Decoded:
        decoded = plain(self, window)
        calls[len(decoded.drafting) > 0] += 1
        if decoded.drafting and calls[True] == 4:
            object.__setattr__(decoded, "tokens", (*decoded.tokens[:-1], 0))
        return decoded

    monkeypatch.setattr(Interrupting, "decode", wrong)
    bench.run()
    assert Counter(row.identical for row in bench.rows.values()) == {True: len(bench.rows) - 1, False: 1}


def test_a_peer_that_fails_ends_nothing_but_itself(bench: Bench) -> None:
    bench.peers = (Mute(),)
    assert bench.run()
    [failed] = [row for row in bench.rows.values() if row.method == "mute"]
    assert (failed.window, failed.tokens) == ("jfk#0", ())
    assert failed.faults == ("RuntimeError: no voice",)
    assert len(bench.rows) == 8 + 1
    assert bench.run(interrupt_at=1)  # nothing is missing


def test_short_windows_are_left_out_and_named(bench: Bench) -> None:
    bench.run(procedure=Procedure(1, len(TEXT) + 1))
    assert not bench.rows
    assert not bench.runs
    assert [record.short for record in read_clips(bench.folder, pytest.fail)] == [
        ("jfk#0",),
        ("fleurs-de-003#0",),
    ]
    assert bench.run(interrupt_at=1, procedure=Procedure(1, len(TEXT) + 1))


def test_windows_that_are_long_enough_stay(bench: Bench) -> None:
    bench.run(procedure=Procedure(1, len(TEXT)))
    assert len(bench.rows) == 8


def test_references_beyond_doubt_are_kept(bench: Bench) -> None:
    bench.run()
    found = {record.clip: record.reference for record in read_clips(bench.folder, pytest.fail)}
    assert found == {"jfk": "said in jfk", "fleurs-de-003": ""}


@pytest.mark.parametrize("cut", [False, True])
def test_audio_that_cannot_be_decoded_or_cut_is_skipped(bench: Bench, tmp_path: Path, cut: bool) -> None:
    noise = tmp_path / "noise.wav"
    noise.write_bytes(b"no audio at all" * 100)
    pieces = (Piece(noise),) if cut else ()
    bad = Clip("bad", noise, "read", "en", "", 0.0, doubtful=False, pieces=pieces)
    bench.clips.insert(0, bad)
    assert bench.run()
    records = {record.clip: record for record in read_clips(bench.folder, pytest.fail)}
    assert records["bad"].fault
    assert "noise.wav" in records["bad"].fault
    assert records["jfk"].fault is None
    assert len(bench.rows) == 8


def test_the_last_repetition_of_the_first_long_windows_is_drawn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert DRAWN_WINDOWS == 10
    monkeypatch.setattr("as2d.evaluation.measuring.runner.DRAWN_WINDOWS", 1)
    bench.run()
    drawn = [(run.window, run.repetition) for run in bench.runs if run.time_line]
    assert drawn == [("jfk#0", 1)] * 3
    line = bench.rows["jfk#0", "as2d near b3 2c1d"].time_line
    assert line
    assert line.drafting
    assert line.verifying
    assert sum(len(step.origins) for step in line.commits) == len(TEXT) + 1
    assert [step.at for step in line.commits] == sorted(step.at for step in line.commits)
    assert bench.rows["fleurs-de-003#0", "target-only 2c"].time_line is None


def test_short_texts_are_not_drawn(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("as2d.evaluation.measuring.runner.DRAWN_TOKENS", len(TEXT) + 1)
    bench.run()
    assert not any(run.time_line for run in bench.runs)
