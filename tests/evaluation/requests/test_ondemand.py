from as2d.evaluation.requests.ondemand import _answered
from as2d.records import Result, SourceStats, Stats, Timing, View

VIEW = View(0.0, 30.0, 2.0, 31.0, reused=1, prepared=2)


def result(tokens: tuple[int, ...], last_token_ms: float | None) -> Result:
    return Result(
        text="",
        language="en",
        duration_s=30.0,
        tokens=tokens,
        segments=(),
        method="as2d",
        exact=True,
        finish_reason="stop",
        truncated=False,
        warnings=(),
        stats=Stats(accepted=2, decode_ms=70.0, producer_done_ms=80.0, wall_ms=120.0),
        sources=(SourceStats("self", fault="it failed"), SourceStats("tiny")),
        timing=Timing(1e9, 1.0, 20.0, last_token_ms),
        view=VIEW,
    )


def test_latency_is_that_of_the_last_token_and_identity_that_of_all() -> None:
    def answered(tokens: tuple[int, ...], last_token_ms: float | None) -> tuple[bool, float]:
        answer = _answered(
            result(tokens, last_token_ms),
            contender="as2d self 2c1d",
            position_s=31.0,
            prepared=True,
            repetition=0,
            expected=(1, 2, 3),
            peak_memory_mb=None,
        )
        assert (answer.windows, answer.encoded, answer.start_s, answer.end_s) == (3, 2, 2.0, 31.0)
        assert answer.accepted == 2
        assert (answer.decode_ms, answer.first_token_ms, answer.faults) == (80.0, 20.0, ("it failed",))
        return answer.identical, answer.latency_ms

    assert answered((1, 2, 3), 99.0) == (True, 99.0)
    assert answered((1, 2, 4), 99.0) == (False, 99.0)
    assert answered((), None) == (False, 120.0)
