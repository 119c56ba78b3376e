"""The torch engine on a small language model without speech."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")

from as2d.engines.torch import (  # noqa: E402
    MAX_ROWS,
    CausalModel,
    TextState,
    device_of,
    empty,
    opened,
    use_threads,
)
from as2d.errors import InputError, UnsupportedError  # noqa: E402

VOCABULARY = 203
TOKENS = np.random.default_rng(0).integers(0, VOCABULARY, 90).tolist()


def language_model(**sizes: Any) -> tuple[Any, Any]:
    """A text model of transformers and its head, with random weights."""
    torch.manual_seed(0)
    defaults = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 512,
        "initializer_range": 0.2,
        "attn_implementation": "eager",
    }
    body = transformers.Qwen2Model(transformers.Qwen2Config(**{**defaults, **sizes})).eval()
    return body.requires_grad_(False), torch.nn.Linear(64, VOCABULARY, bias=False).requires_grad_(False)


@pytest.fixture(scope="module")
def parts() -> tuple[Any, Any]:
    torch.set_num_threads(1)
    return language_model()


@pytest.fixture(scope="module")
def model(parts: tuple[Any, Any]) -> CausalModel:
    return CausalModel(*parts)


@pytest.fixture
def start(model: CausalModel) -> Callable[..., TextState]:
    """Gives states that hold the first tokens."""

    def make(held: int = 10, capacity: int = 101) -> TextState:
        state = empty(model, held, 1)
        state.prefill(model.embed(TOKENS[:held]))
        return opened(model, state.kept(), capacity, 1)

    return make


def expected(body: Any, head: Any, tokens: list[int]) -> Any:
    """Logits of all positions, computed at once by transformers alone."""
    with torch.inference_mode():
        return head(body(input_ids=torch.tensor([tokens])).last_hidden_state[0]).numpy()


@pytest.mark.parametrize(
    "sizes", [{}, {"use_sliding_window": True, "sliding_window": 7, "max_window_layers": 1}]
)
def test_rows_are_those_of_transformers(sizes: dict[str, Any]) -> None:
    """Also where one of the layers sees a few positions only."""
    body, head = language_model(**sizes)
    assert len(set(body.config.layer_types)) == (2 if sizes else 1)
    model = CausalModel(body, head)
    beginning = empty(model, 30, 1)
    beginning.prefill(model.embed(TOKENS[:30]))
    state = opened(model, beginning.kept(), 90, 1)
    assert state.length == 30
    rows = np.concatenate(
        [state.logits(TOKENS[30:35]), state.logits(TOKENS[35:36]), state.logits(TOKENS[36:90])]
    )
    np.testing.assert_allclose(rows, expected(body, head, TOKENS)[30:], rtol=0, atol=2e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("at", [10, 37])
def test_rows_are_bitwise_the_same_at_every_width(
    start: Callable[..., TextState], threads: int, at: int
) -> None:
    single = start()
    rows = np.concatenate([single.logits([token]) for token in TOKENS[10:]])
    state = start()
    if at > 10:
        state.logits(TOKENS[10:at])
    state.use_threads(threads)
    for width in range(1, 26):
        state.truncate(at)
        found = state.logits(TOKENS[at : at + width])
        assert np.array_equal(found, rows[at - 10 : at - 10 + width]), width


def test_longer_calls_are_cut(start: Callable[..., TextState]) -> None:
    one, two = start(), start()
    whole = one.logits(TOKENS[10 : 10 + MAX_ROWS + 3])
    pieces = [two.logits(TOKENS[10:15]), two.logits(TOKENS[15 : 10 + MAX_ROWS + 3])]
    assert np.array_equal(whole, np.concatenate(pieces))


def test_the_cache_can_be_filled_to_the_last_position(start: Callable[..., TextState]) -> None:
    state = start(10, 23)
    rows = state.logits(TOKENS[10:23])
    assert (state.length, state.capacity) == (23, 23)
    with pytest.raises(InputError, match="do not fit"):
        state.logits([1])
    state.truncate(22)
    assert np.array_equal(state.logits(TOKENS[22:23]), rows[-1:])


def test_states_that_begin_alike_do_not_disturb_each_other(model: CausalModel) -> None:
    beginning = empty(model, 10, 1)
    beginning.prefill(model.embed(TOKENS[:10]))
    kept = beginning.kept()
    one, two = opened(model, kept, 40, 1), opened(model, kept, 40, 1)
    first = one.logits([3, 4])
    two.logits([9, 8, 7])
    one.truncate(10)
    assert np.array_equal(one.logits([3, 4]), first)
    assert kept.length == beginning.length == 10


def test_a_prefix_is_the_same_in_whatever_buffer_it_was_computed(model: CausalModel) -> None:
    rows = []
    for capacity in (90, 140):
        state = empty(model, capacity, 1)
        state.prefill(model.embed(TOKENS))
        rows.append(opened(model, state.kept(), 120, 1).logits([5]))
    assert np.array_equal(rows[0], rows[1])


def test_what_cannot_be(start: Callable[..., TextState], model: CausalModel) -> None:
    state = start()
    for length in (-1, 11):
        with pytest.raises(InputError, match="truncate"):
            state.truncate(length)
    with pytest.raises(InputError, match="context of 512"):
        empty(model, 513, 1)
    empty(model, 512, 1)


def test_devices_and_threads() -> None:
    assert device_of("cpu") == torch.device("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(UnsupportedError, match="use the device cpu"):
            device_of("cuda")
    use_threads(1)
    assert torch.get_num_threads() == 1
