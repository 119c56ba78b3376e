"""Write golden_mel.npz: log-mel values of transformers' WhisperFeatureExtractor for signals made here.

Run it in an environment of its own that has numpy and transformers:
`python tests/models/whisper/make_golden_mel.py`.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SAMPLE_RATE = 16_000
STRIDE = 7
"""Only every 7th frame is kept, besides the first and last ones, to keep the file small."""


def signals() -> dict[str, NDArray[np.float32]]:
    """Test signals at 16 kHz, by name; the same on every machine."""
    rng = np.random.default_rng(2609)
    time = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    syllables = np.maximum(0.0, np.sin(2 * np.pi * 3.0 * time)) ** 2
    voice = sum(np.sin(2 * np.pi * 120.0 * k * time + k * k) / k for k in range(1, 30))
    chirp = 0.8 * np.sin(2 * np.pi * (50.0 * time + 1300.0 * time**2))
    return {
        "chirp": chirp.astype(np.float32),
        "noise": (0.1 * rng.standard_normal(2 * SAMPLE_RATE)).astype(np.float32),
        "voice": (0.2 * syllables * voice + 1e-4 * rng.standard_normal(time.size)).astype(np.float32),
        "tone": (0.9 * np.sin(2 * np.pi * 440.0 * time[:9000])).astype(np.float32),
        "quiet": (1e-5 * rng.standard_normal(5000)).astype(np.float32),
        "click": np.concatenate([np.ones(1), np.zeros(99)]).astype(np.float32),
        "full": (0.05 * rng.standard_normal(30 * SAMPLE_RATE)).astype(np.float32),
        "long": (0.05 * rng.standard_normal(31 * SAMPLE_RATE)).astype(np.float32),
        "silence": np.zeros(1000, np.float32),
    }


def kept_frames(samples: int) -> NDArray[np.int64]:
    """Frames of a 3000-frame spectrogram whose values are kept, for a signal of that many samples."""
    end = min(3000, samples // 160 + 10)
    step = STRIDE if end < 1000 else 20 * STRIDE
    return np.unique(
        np.concatenate([np.arange(0, end, step), [0, 1, 2, end - 4, end - 3, end - 2, end - 1, 2999]])
    )


def main() -> None:
    """Compute the golden values with 80 mel bins, and with 128 for one signal."""
    from transformers import WhisperFeatureExtractor  # not needed but here

    golden = {}
    for name, samples in signals().items():
        for n_mels in (80, 128) if name == "voice" else (80,):
            extractor = WhisperFeatureExtractor(feature_size=n_mels)
            features = extractor(samples, sampling_rate=SAMPLE_RATE, return_tensors="np").input_features[0]
            golden[f"{name}_{n_mels}"] = features[:, kept_frames(len(samples))].astype(np.float32)
    np.savez_compressed(Path(__file__).with_name("golden_mel.npz"), **golden)


if __name__ == "__main__":
    main()
