"""Audio in: any file or array → mono samples at 16 kHz → windows cut at silence."""

from as2d.audio.load import AudioInput, AudioStream, open_audio
from as2d.audio.windows import MAX_SAMPLES, Window, windows

__all__ = ["MAX_SAMPLES", "AudioInput", "AudioStream", "Window", "open_audio", "windows"]
