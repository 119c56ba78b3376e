"""onnxruntime sessions that stay out of each other's way, and calls that copy nothing."""

import math
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from as2d.errors import ModelDamagedError

_ERRORS_ONLY = 3


def open_session(path: Path, threads: int) -> ort.InferenceSession:
    """A CPU session of `path` on that many cores.

    Its threads sleep rather than spin when they have nothing to do: two pools that spin in one process make each
    other 2–4 times slower. Raises ModelDamagedError when onnxruntime cannot read the file.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelDamagedError(
            f"onnxruntime cannot load {path}: {error}; delete it to have it rebuilt"
        ) from error


class Graph:
    """One graph file, with a session for each thread count that has been asked for.

    onnxruntime fixes a session's threads when it is made; the sessions share the mapped weights.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sessions: dict[int, ort.InferenceSession] = {}
        self._lock = threading.Lock()

    def session(self, threads: int) -> ort.InferenceSession:
        """The session on that many cores, made at the first call."""
        with self._lock:
            if threads not in self._sessions:
                self._sessions[threads] = open_session(self.path, threads)
            return self._sessions[threads]

    def run(
        self, threads: int, inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]
    ) -> None:
        """Compute all outputs of one call into the given C-contiguous arrays.

        The memory between the layers is given back afterwards: kept, it would be that of the most calls at a time.
        """
        binding = self.bind(threads)
        for name, array in inputs.items():
            binding.input(name, array)
        for name, array in outputs.items():
            binding.output(name, array)
        binding.run(_giving_back())

    def bind(self, threads: int) -> "Binding":
        """A binding of caller-owned arrays to the session on that many cores."""
        return Binding(self.session(threads))


class Binding:
    """Caller-owned arrays bound to a session's inputs and outputs; the caller keeps them alive.

    One binding belongs to one thread; a session may have many.
    """

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        self._io = session.io_binding()

    def input(self, name: str, array: NDArray[Any]) -> None:
        """Read an input from a C-contiguous array."""
        self._io.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def output(self, name: str, array: NDArray[Any]) -> None:
        """Have an output written to a C-contiguous array."""
        self._io.bind_output(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

    def cache(
        self, past: str, new: str, address: int, rows: tuple[int, int], row_shape: tuple[int, ...]
    ) -> None:
        """Read the input `past` from the first rows[0] float32 rows at `address`, and write the output `new` to the
        rows[1] rows behind them: a cache that grows in place. By address, since slicing arrays would cost more than
        binding them."""
        length, count = rows
        behind = address + 4 * length * math.prod(row_shape)
        self._io.bind_input(past, "cpu", 0, np.float32, (length, *row_shape), address)
        self._io.bind_output(new, "cpu", 0, np.float32, (count, *row_shape), behind)

    def run(self, options: ort.RunOptions | None = None) -> None:
        """Compute the outputs from the inputs; other threads run meanwhile."""
        self._session.run_with_iobinding(self._io, options)


def _giving_back() -> ort.RunOptions:
    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return options


def cpu_fingerprint() -> dict[Literal["engine", "cpu"], str]:
    """What decides which kernels onnxruntime picks: its version and the processor's vector features."""
    return {"engine": f"onnxruntime {ort.__version__}", "cpu": _cpu_features()}


def _cpu_features() -> str:
    """The processor's model and feature flags; empty where the system does not tell."""
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return ""
    wanted = ("model name", "flags", "Features", "CPU part")
    lines = info.read_text(encoding="utf-8", errors="replace").split("\n\n", 1)[0].splitlines()
    return "; ".join(line for line in lines if line.startswith(wanted))
