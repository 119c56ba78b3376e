from collections.abc import Callable
from pathlib import Path

import pytest

from as2d.errors import InputError
from as2d.evaluation.corpora import Clip, read_corpus

Write = Callable[..., None]

ROOT = '<?xml version="1.0" encoding="ISO-8859-1"?><nite:root xmlns:nite="http://nite.sourceforge.net/">{}</nite:root>'


def words(speaker: str, *said: str) -> str:
    """Words, full stops and sounds ("*")."""
    elements = []
    for number, text in enumerate(said):
        place = f'nite:id="ES2004a.{speaker}.words{number}"'
        if text == "*":
            elements.append(f'<vocalsound {place} type="laugh"/>')
        else:
            elements.append(
                f"<w {place}{' punc=' + chr(34) + 'true' + chr(34) if text == '.' else ''}>{text}</w>"
            )
    return ROOT.format("".join(elements))


def segments(speaker: str, *spans: tuple[float, float, int, int]) -> str:
    """Segments from one second to another, of the words from one number to another."""
    elements = []
    for start, end, first, last in spans:
        name = f"ES2004a.{speaker}.words"
        to = f"..id({name}{last})" if last > first else ""
        elements.append(
            f'<segment transcriber_start="{start}" transcriber_end="{end}">'
            f'<nite:child href="{name}.xml#id({name}{first}){to}"/></segment>'
        )
    return ROOT.format("".join(elements))


@pytest.fixture
def corpus(tmp_path: Path, sound: Write, lines: Write) -> Path:
    """One meeting: A speaks twice, the second time while B does; B laughs in the end."""
    sound(tmp_path / "amicorpus" / "ES2004a" / "audio" / "ES2004a.Mix-Headset.wav", 6)
    manual = tmp_path / "manual"
    lines(manual / "words" / "ES2004a.A.words.xml", words("A", "Okay", ".", "*", "It&#39;s", "fine"))
    lines(manual / "segments" / "ES2004a.A.segments.xml", segments("A", (0.5, 1.25, 0, 1), (3, 4, 2, 4)))
    lines(manual / "words" / "ES2004a.B.words.xml", words("B", "Yes", "*"))
    lines(manual / "segments" / "ES2004a.B.segments.xml", segments("B", (3.5, 5, 0, 0), (5, 5.5, 1, 1)))
    return tmp_path


def clips(folder: Path) -> dict[str, Clip]:
    return {clip.name: clip for clip in read_corpus(folder, pieces=True).clips}


def test_segments_in_which_something_is_said(corpus: Path) -> None:
    assert {name: clip.reference for name, clip in clips(corpus).items()} == {
        "ES2004a/A-0000": "Okay",
        "ES2004a/A-0001": "It's fine",
        "ES2004a/B-0002": "Yes",
    }


def test_a_segment_is_cut_out_of_the_meeting(corpus: Path, seconds_of: Callable[..., float]) -> None:
    clip = clips(corpus)["ES2004a/A-0000"]
    assert (clip.kind, clip.language, clip.duration_s) == ("meeting", "en", 0.75)
    assert seconds_of(clip) == 0.75


def test_who_is_talked_over_is_in_doubt(corpus: Path) -> None:
    assert [clip.doubtful for clip in clips(corpus).values()] == [False, True, True]


def test_recordings_beside_the_annotations(corpus: Path) -> None:
    recording = corpus / "amicorpus" / "ES2004a" / "audio" / "ES2004a.Mix-Headset.wav"
    recording.rename(corpus / "manual" / recording.name)
    assert len(clips(corpus / "manual")) == 3


def test_no_annotations(corpus: Path) -> None:
    with pytest.raises(InputError, match=r"no folders words and segments; unpack the manual annotations"):
        read_corpus(corpus / "amicorpus")


def test_a_meeting_that_is_not_annotated(corpus: Path, sound: Write) -> None:
    sound(corpus / "amicorpus" / "IS1000a" / "audio" / "IS1000a.Mix-Headset.wav")
    with pytest.raises(InputError, match="no segments of IS1000a"):
        read_corpus(corpus)


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("words/ES2004a.A.words.xml", "<root>", "words.xml cannot be read"),
        ("words/ES2004a.A.words.xml", '<?xml version="1.0" encoding="no-such"?><root/>', "unknown encoding"),
        ("segments/ES2004a.A.segments.xml", ROOT.format("<segment/>"), "a segment without times"),
    ],
)
def test_damaged_annotations(corpus: Path, lines: Write, file: str, content: str, says: str) -> None:
    lines(corpus / "manual" / file, content)
    with pytest.raises(InputError, match=says):
        read_corpus(corpus)


def test_words_that_nothing_can_refer_to_are_left(corpus: Path) -> None:
    path = corpus / "manual" / "words" / "ES2004a.B.words.xml"
    path.write_text(path.read_text().replace("</nite:root>", "<w>lost</w></nite:root>"))
    assert "<w>lost" in path.read_text()
    assert clips(corpus)["ES2004a/B-0002"].reference == "Yes"


def test_without_cutting_the_segments_are_not_used(corpus: Path) -> None:
    with pytest.raises(InputError, match=r"looks like AMI, .*which is not done here; use as2d bench"):
        read_corpus(corpus)
