"""What `auto` finds for a session's requests in a file of configurations."""

from logging import getLogger
from os import PathLike
from pathlib import Path

from as2d.configuration.drafters import Drafters
from as2d.configuration.file import default_file, read_entries
from as2d.configuration.tuned import Entry, Group, Objective, Situation, find, mismatch
from as2d.errors import InputError
from as2d.models.contract import AudioModel
from as2d.profiling.machine import this_machine
from as2d.records import Instruction

_log = getLogger(__name__)


class Deployed:
    """The entries of a file, for one session. Where none fits, it says so once."""

    def __init__(self, path: Path, entries: tuple[Entry, ...], situation: Situation) -> None:
        self._path = path
        self._entries = entries
        self._situation = situation
        self._said = False

    def find(self, instruction: Instruction, *, prepared: bool) -> Entry | None:
        """What was chosen for such a request."""
        objective: Objective = "throughput" if prepared else "latency"
        group = _group(instruction.language)
        entry = find(self._entries, self._situation, instruction.task, objective, group)
        if entry is None and not self._said:
            self._said = True
            self._say(f"to {instruction.task}, {objective}, {group} language")
        return entry

    @property
    def obstacle(self) -> str | None:
        """Why no entry fits the session, whatever is asked; None where one does."""
        obstacles = [mismatch(entry, self._situation) for entry in self._entries]
        if None in obstacles:
            return None
        return next(iter(obstacles), "it holds no configuration")

    def _say(self, request: str) -> None:
        if obstacle := self.obstacle:
            _log.warning("%s is not used: %s; run `as2d tune` here", self._path, obstacle)
        else:
            _log.info("%s has no configuration for such a request (%s)", self._path, request)


def deploy(
    path: str | PathLike[str] | None, target: AudioModel, drafters: Drafters, threads: int
) -> Deployed | None:
    """The file that was named, or that in the default place, if there is one.

    What is named on purpose may be of another machine. InputError where that is damaged, or of other models; in the
    default place such a file only is not used, which is said.
    """
    alone = {next(iter(group)) for group in drafters.groups if len(group) == 1}
    identities = frozenset(drafters.sources[index].identity for index in alone)
    if path is None:
        return _default(Situation(this_machine(), threads, target.identity, identities))
    file = Path(path)
    found = Deployed(file, read_entries(file), Situation(None, None, target.identity, identities))
    if obstacle := found.obstacle:
        raise InputError(f"{file} is not for this session: {obstacle}; run `as2d tune`, or name another file")
    return found


def _default(situation: Situation) -> Deployed | None:
    try:
        path = default_file()
        return Deployed(path, read_entries(path), situation) if path.exists() else None
    except InputError as error:
        _log.warning("%s; auto measures the machine instead", error)
        return None


def _group(language: str | None) -> Group:
    if language is None:
        return "any"
    return "english" if language == "en" else "other"
