"""A program whose commands are imported when they are used, since most of their time is imports."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from privet.protocol.errors import PrivetError
from privet.protocol.help_texts import whole_paragraphs
from privet.protocol.installing import install_command


class Place(NamedTuple):
    """The place of a command or group, ``module:name``, and what the program's help says of it.

    A command has an example, without the program's name.
    """

    where: str
    line: str
    example: str | None = None


class Loaded(Mapping[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __init__(self, program: str, places: Mapping[str, Place]) -> None:
        self._program, self._places = program, places
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """A command; raises ``PrivetError`` if a package that it needs is not installed."""
        place = self._places[name]
        if name not in self._made:
            try:
                self._made[name] = self._import(name, place)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] == "privet":
                    raise
                raise PrivetError(
                    f"{self._program} {name} needs {error.name}, which is not installed: "
                    f"{install_command('curator')}"
                ) from None
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _import(self, name: str, place: Place) -> Any:
        module, attribute = place.where.split(":")
        found = getattr(import_module(f".{module}", __package__), attribute)
        if place.example is not None:
            program = typer.Typer(add_completion=False)
            program.command(name, epilog=f"Example: {self._program} {place.example}")(found)
            return _with_whole_paragraphs(typer.main.get_command(program))
        group = typer.Typer(add_completion=False)
        group.add_typer(found, name=name)
        of_group = typer.main.get_command(group).commands[name]  # type: ignore[attr-defined]
        return _with_whole_paragraphs(of_group)


def _with_whole_paragraphs(command: Any) -> Any:
    """The command or group, its help and that of its commands with paragraphs in one line each."""
    command.help = whole_paragraphs(command.help)
    for each in getattr(command, "commands", {}).values():
        _with_whole_paragraphs(each)
    return command


def commands_on_use(program: str, places: Mapping[str, Place]) -> type[TyperGroup]:
    """The class of a program with these commands; its help and completion import none."""

    class Commands(TyperGroup):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.commands: Any = Loaded(program, places)

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (as Typer has it)
            """The names, for which Typer's own imports every command."""
            return list(places)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (as Typer has it)
            """The name and the line alone, which is what help and completion ask for."""
            place = places.get(cmd_name)
            return None if place is None else TyperCommand(cmd_name, help=place.line)

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            """The command that the first argument names, imported."""
            name, command, rest = super().resolve_command(ctx, args)
            return name, None if command is None else self.commands[command.name], rest

    return Commands


def run(app: Callable[[Sequence[str] | None], object], arguments: Sequence[str] | None) -> int:
    """Run a command; the exit status. A ``PrivetError`` is printed as one sentence."""
    try:
        app(arguments)
    except PrivetError as error:
        from .output import print_error

        print_error(error.detail)
        return 1
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else 0
    return 0
