from as2d.evaluation.analysis.labels import core_split, label


def test_labels() -> None:
    assert label("target-only", None, None) == "target-only"
    assert label("as2d", "self", 7) == "AS²D (self, b = 7)"
    assert label("as2d-without-budget", "tiny", None) == "AS²D without budget (tiny)"
    assert label("speculative", "self", 11) == "speculative (self, K = 12)"
    assert label("speculative", "self", None) == "speculative (self, K = 5–8)"


def test_core_splits() -> None:
    assert core_split("target-only", 4, None, 1) == "4"
    assert core_split("as2d", 4, "self", 1) == "3 + 1"
    assert core_split("as2d", 4, "self+tiny", 2) == "1 + 4"
    assert core_split("specasr", 4, "self", 2) == "4, 2"
