"""A group of commands one of which need not be named: `as2d profile` is `as2d profile run`."""

from typing import Any

from typer.core import TyperGroup

DEFAULT = "run"
"""The name of the command that need not be named."""


class DefaultGroup(TyperGroup):
    """A group whose first argument may also be that of its default command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command in front of what names no other; in front of nothing, unless that asks for help."""
        named = args[0] in (*self.commands, "--help") if args else self.no_args_is_help
        return super().parse_args(ctx, args if named else [DEFAULT, *args])
