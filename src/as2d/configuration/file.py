"""The file of configurations: several machines, models and kinds of request in one. Written whole or not at all."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from as2d.configuration.tuned import Choice, Entry, Grounds, Group, Half, Objective
from as2d.drafting.publication import BatchSize
from as2d.errors import InputError
from as2d.profiling.profile import Machine
from as2d.records import Task
from as2d.replay.fields import amount, count, one_of, text
from as2d.runtime.exactness import MAX_BUDGET

SCHEMA = 1
"""Raised with every change that old readers cannot bear."""

_NAME = "configuration.json"
_AGAIN = "write it again with `as2d tune`, or remove it"


def default_file() -> Path:
    """Where `auto` looks: `AS2D_CONFIG`, else `as2d` in `XDG_CONFIG_HOME`, else `~/.config/as2d`; it may not exist."""
    return _folder() / _NAME


def read_entries(path: Path) -> tuple[Entry, ...]:
    """All entries of a file. InputError: cannot be read, damaged, or of a newer as2d."""
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path} ({error.strerror}); write it with `as2d tune`") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no file of configurations; {_AGAIN}") from error
    try:
        return _from_json(json.loads(content), path)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error!r}); {_AGAIN}") from error


def check_writable(path: Path) -> None:
    """Make the folder where it is missing. InputError where the file cannot be written, or is of something else."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make {path.parent} ({error.strerror}); name another file") from error
    if not os.access(path.parent, os.W_OK) or path.is_dir():
        raise InputError(f"cannot write {path}; name another file")
    if path.exists():
        read_entries(path)


def merge_entries(path: Path, new: Iterable[Entry]) -> None:
    """Add entries to a file, in place of those for the same. InputError where it cannot be read or written."""
    added = list(new)
    known = read_entries(path) if path.exists() else ()
    kept = [entry for entry in known if not any(one.replaces(entry) for one in added)]
    content = {"schema": SCHEMA, "entries": [_from_entry(entry) for entry in (*kept, *added)]}
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"cannot write {path} ({error.strerror}); name another file") from error


def _folder() -> Path:
    try:
        if chosen := os.environ.get("AS2D_CONFIG"):
            return Path(chosen).expanduser()
        shared = Path(os.environ.get("XDG_CONFIG_HOME", ""))
        # The XDG specification says to ignore a relative path.
        return (shared if shared.is_absolute() else Path("~/.config").expanduser()) / "as2d"
    except RuntimeError as error:
        raise InputError("there is no home folder for configurations; set AS2D_CONFIG to a folder") from error


def _from_json(content: Any, path: Path) -> tuple[Entry, ...]:
    schema = content["schema"]
    if type(schema) is int and schema > SCHEMA:
        raise InputError(
            f"{path} has schema {schema}, which is newer than {SCHEMA}; update as2d, or {_AGAIN}"
        )
    if schema != SCHEMA:
        raise ValueError(f"schema {schema!r}")
    return tuple(map(_to_entry, content["entries"]))


def _from_entry(entry: Entry) -> dict[str, Any]:
    return asdict(entry) | {"target": list(entry.target), "drafters": dict(entry.drafters)}


def _to_entry(fields: Mapping[str, Any]) -> Entry:
    name, identity = fields["target"]
    entry = Entry(
        machine=_to_machine(fields["machine"]),
        threads=count(fields["threads"]),
        target=(text(name), text(identity)),
        drafters={text(name): text(identity) for name, identity in fields["drafters"].items()},
        task=one_of(fields["task"], Task),
        objective=one_of(fields["objective"], Objective),
        group=one_of(fields["group"], Group),
        choice=_to_choice(fields["choice"]),
        grounds=_to_grounds(fields["grounds"]),
        test=None if fields["test"] is None else _to_grounds(fields["test"]),
        corpus=text(fields["corpus"]),
        half=None if fields["half"] is None else one_of(fields["half"], Half),
        date=text(fields["date"]),
    )
    _check_choice(entry)
    return entry


def _check_choice(entry: Entry) -> None:
    choice = entry.choice
    if choice.drafter is None:
        possible = choice.budget == 0
    else:
        possible = 1 <= choice.budget <= MAX_BUDGET and choice.drafter in entry.drafters
    if not possible or choice.floor >= 1 or not 1 <= choice.drafter_threads <= entry.threads:
        raise ValueError(f"a choice that is not possible: {choice.label}")


def _to_machine(fields: Mapping[str, Any]) -> Machine:
    host, cpu, engine, version = (text(fields[name]) for name in ("host", "cpu", "engine", "as2d"))
    return Machine(host, count(fields["cores"]), cpu, engine, version)


def _to_choice(fields: Mapping[str, Any]) -> Choice:
    drafter = fields["drafter"]
    return Choice(
        drafter=None if drafter is None else text(drafter),
        budget=count(fields["budget"]),
        drafter_threads=count(fields["drafter_threads"]),
        batch=_batch(fields["batch"]),
        floor=amount(fields.get("floor", 0.0)),  # older files have none
    )


def _to_grounds(fields: Mapping[str, Any]) -> Grounds:
    at_7 = fields["tps_budget_7"]
    return Grounds(
        windows=count(fields["windows"]),
        tps=amount(fields["tps"]),
        tps_budget_7=None if at_7 is None else amount(at_7),
        tps_target_only=amount(fields["tps_target_only"]),
        tps_oracle=amount(fields["tps_oracle"]),
        latency_p50_ms=amount(fields["latency_p50_ms"]),
        latency_p95_ms=amount(fields["latency_p95_ms"]),
    )


def _batch(value: Any) -> BatchSize:
    if value == "word" or (type(value) is int and value > 0):
        return value  # type: ignore[no-any-return]
    raise ValueError(f"{value!r} is no batch")
