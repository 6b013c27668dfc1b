"""`tierlock completion SHELL`: the script that completes commands, options and service names."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

SHELLS = {
    "bash": 'eval "$(tierlock completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(tierlock completion zsh)"    # in ~/.zshrc',
    "fish": "tierlock completion fish | source    # in ~/.config/fish/config.fish",
}
_KINDS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
_LINES = "\n".join(f"      {line}" for line in SHELLS.values())


@click.command(
    "completion",
    help=f"""Print a completion script for SHELL.

    \b
    Examples, for the start-up file of your shell:
{_LINES}
    """,
)
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
def command(shell: str) -> None:
    """Print the script; it is not a report."""
    from governance.cli.group import tierlock

    click.echo(_KINDS[shell](tierlock, {}, "tierlock", "_TIERLOCK_COMPLETE").source())
