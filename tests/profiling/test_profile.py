"""The file: what is written comes back, and what is wrong with it is said."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from as2d.errors import InputError
from as2d.profiling.plan import Point
from as2d.profiling.profile import Profile, Timing, load_profile, save_profile

MakeProfile = Callable[..., Profile]
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def path(make_profile: MakeProfile, tmp_path: Path) -> Path:
    save_profile(make_profile(), tmp_path / "profile.json")
    return tmp_path / "profile.json"


def test_a_profile_comes_back_as_it_was(make_profile: MakeProfile, path: Path) -> None:
    loaded = load_profile(path)
    assert loaded == make_profile()
    assert list(loaded.timings) == list(make_profile().timings)
    assert [file.name for file in path.parent.iterdir()] == ["profile.json"]


def test_a_timing_is_a_line(make_profile: MakeProfile, path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if line.startswith('{"doing"')]
    assert len(lines) == len(make_profile().timings)


def test_noise_is_the_median_share_of_the_spread(make_profile: MakeProfile, path: Path) -> None:
    profile = make_profile()
    points = list(profile.timings)[:3]
    noisy = {point: Timing(10.0, spread, 5) for point, spread in zip(points, (1.0, 2.0, 9.0), strict=True)}
    assert replace(profile, timings=noisy).noise == 0.2
    assert replace(profile, timings={}).noise == 0
    assert json.loads(path.read_text())["noise"] == round(profile.noise, 4)


def set_of(timing: Mapping[str, Any]) -> Change:
    return lambda value: value["timings"][7].update(timing)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            set_of({"ms": float("nan")}),
            "says nan for encode of small on 1 core .* beside big, which cannot be",
        ),
        (set_of({"ms": -1.0}), r"says -1\.0 for "),
        (set_of({"ms": 0}), "says 0 for encode of small"),
        (set_of({"ms": None}), "says None for "),
        (set_of({"spread_ms": float("inf")}), "says inf for the spread of "),
        (set_of({"repetitions": 0}), "says 0 where a number from 1 up"),
        (set_of({"doing": "sing"}), "no timing"),
        (set_of({"beside": 3}), "holds 3, which no model does"),
        (lambda value: value["timings"][7].pop("ms"), "has no time for "),
        (lambda value: value["timings"].append(1), "holds 1, which is no timing"),
        (lambda value: value["timings"].pop(), "lacks forward of shared at width 1 and context 192 "),
        (lambda value: value.update(timings=[]), "lacks encode of big .* and 683 other calls"),
        (lambda value: value.update(schema=2), "schema 2, which is newer than 1; update as2d"),
        (lambda value: value.update(schema=0), "is no profile"),
        (lambda value: value.pop("plan"), "is no profile"),
        (lambda value: value["plan"].update(threads=0), "does not say what was timed"),
        (lambda value: value["plan"].update(widest=-5), "says -5 where a number from 1 up"),
        (lambda value: value["plan"].update(contexts=["8"]), "says '8' where a number from 1 up"),
        (lambda value: value["plan"].update(drafters=[1]), "says 1 where a name must be"),
        (lambda value: value["plan"].update(audio_s=[float("nan")]), "says nan for an audio length"),
        (lambda value: value["machine"].pop("cpu"), "which machine"),
        (lambda value: value["models"].pop("small"), "which models big, small, shared are"),
        (lambda value: value["models"].update(small=None), "says None where a name must be"),
        (lambda value: value["overheads"].update(round=7), "has no time for round"),
        (lambda value: value["memory_mb"].update(big=-7), "says -7 for the memory of big"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(path: Path, change: Change, message: str) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match=message) as raised:
        load_profile(path)
    assert "`as2d profile`" in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_missing_width_is_named(path: Path) -> None:
    value = json.loads(path.read_text())
    value["timings"] = [timing for timing in value["timings"] if timing["width"] != 7]
    path.write_text(json.dumps(value))
    with pytest.raises(InputError, match="lacks forward of big at width 7 and context 8 on 1 core "):
        load_profile(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"{", "is damaged"),
        (b"[" * 100_000, "is damaged"),
        (b"\xff\xfe\x00", "is no profile"),
        (b"[]", "is no profile"),
        (b"null", "is no profile"),
        (b'{"schema": 1}', "is no profile"),
        (b'{"schema": 99}', "is no profile"),
    ],
)
def test_what_is_no_profile_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_profile(tmp_path / "x.json")


def test_every_cut_of_a_file_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, len(whole) // 50):
        path.write_bytes(whole[:end])
        with pytest.raises(InputError):
            load_profile(path)


def test_a_partial_profile_is_read_on_purpose(make_profile: MakeProfile, tmp_path: Path) -> None:
    profile = make_profile()
    first: dict[Point, Timing] = dict(list(profile.timings.items())[:5])
    partial = replace(profile, timings=first)
    save_profile(partial, tmp_path / "part.json")
    assert load_profile(tmp_path / "part.json", partial=True) == partial
    assert partial.missing == tuple(list(profile.timings)[5:])


def test_where_nothing_can_be_read_or_written_is_said(make_profile: MakeProfile, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.json .*write it with `as2d profile`"):
        load_profile(tmp_path / "none.json")
    with pytest.raises(InputError, match="name another file"):
        save_profile(make_profile(), tmp_path / "none" / "profile.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="name another file"):
        save_profile(make_profile(), tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
