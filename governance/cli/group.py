"""The command `tierlock` and its subcommands by name; a subcommand is imported when it is called.

- `COMMANDS` is the whole list. A test holds that each has a help text with an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import ClassVar, Final

import click

from governance import __version__

COMMANDS: Final = {
    "init": "governance.cli.init",
    "check": "governance.cli.check",
    "fingerprint": "governance.cli.fingerprint",
    "resolve": "governance.cli.resolve",
    "capture": "governance.cli.capture",
    "import": "governance.cli.import_",
    "diff": "governance.cli.diff",
    "review": "governance.cli.review.group",
    "release": "governance.cli.release.group",
    "golden": "governance.cli.golden.group",
    "rollback": "governance.cli.rollback",
    "eval": "governance.cli.eval.group",
    "serve": "governance.cli.serve",
    "demo": "governance.cli.demo",
    "completion": "governance.cli.completion",
    "version": "governance.cli.version",
}

EXITS = """\
\b
Exit codes, never changed by a flag or a format:
  0    pass         judged, and good
  1    block        judged, and bad
  2    usage        the command line is wrong
  3    undecided    could not judge: broken input, missing tool, endpoint down
  70   bug          in tierlock; please report it
  130  interrupted
"""


class Commands(click.Group):
    """A group that imports a subcommand when it is asked for; `modules` has them by name."""

    modules: ClassVar[Mapping[str, str]] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names in the order in which people meet them."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, or None."""
        module = self.modules.get(cmd_name)
        return None if module is None else import_module(module).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` name; a misspelt one is answered with the nearest."""
        if args and args[0] not in self.modules and not args[0].startswith("-"):
            raise click.UsageError(f"no command `{args[0]}`{_nearest(args[0], self.modules)}", ctx)
        return super().resolve_command(ctx, args)


def _nearest(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), n=1)
    return f", did you mean `{near[0]}`?" if near else ""


@click.group(
    cls=Commands,
    epilog=EXITS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="tierlock", message="%(prog)s %(version)s")
def tierlock() -> None:
    """Govern what shapes the answers of an LLM service.

    Three kinds of config (base, sampling, prompts) are typed, checked, fingerprinted and compared, so
    that nothing moves unseen: not a temperature, not a newline, not an engine default.

    \b
    Start here:
      tierlock init                  a repository that passes its own check
      tierlock check                 every file and rule, with line, column and fix
      tierlock resolve SERVICE       what the engine will really use, and who says so
      tierlock diff HEAD~1 HEAD      which layer moved, which value, what it does
    """
