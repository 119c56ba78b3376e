"""Whisper on onnxruntime."""
