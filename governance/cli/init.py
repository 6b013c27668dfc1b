"""`tierlock init`: a repository that passes its own check."""

from __future__ import annotations

from pathlib import Path

import click

from governance.adapters.files import write_all
from governance.cli.options import reporting
from governance.cli.output import Output
from governance.cli.scaffold import ENGINES, files
from governance.verdict import Check, Outcome, Report


@click.command("init")
@click.argument("folder", type=click.Path(file_okay=False), default=".")
@click.option(
    "--engine",
    type=click.Choice(tuple(ENGINES)),
    default="llama.cpp",
    show_default=True,
    help="What runs it.",
)
@reporting
def command(folder: str, engine: str, output: Output) -> Report:  # noqa: ARG001
    """Write a small governed repository into FOLDER (default: here).

    One service, one config of each tier with comments, an eval suite, pre-commit hooks, and schemas for
    your editor. A file that exists is never touched. The result passes `tierlock check`.

    \b
    Examples:
      tierlock init
      tierlock init --engine vllm my-services
    """
    top = Path(folder)
    plan = files(engine)
    kept = [path for path in plan if (top / path).exists() or (top / path).is_symlink()]
    new = {path: data for path, data in plan.items() if path not in kept}
    write_all(top, new)
    return _report(folder, sorted(new), sorted(kept))


def _report(folder: str, new: list[str], kept: list[str]) -> Report:
    told = [f"wrote  {path}" for path in new if not path.startswith(".tierlock/")]
    told += [f"kept   {path}  (it was there)" for path in kept]
    schemas = sum(path.startswith(".tierlock/") for path in new)
    told += [f"wrote  .tierlock/schemas/  ({schemas} schemas for your editor)"] if schemas else []
    count = f"{len(new)} files written" + (f", {len(kept)} kept as they were" if kept else "")
    where = "" if folder == "." else f" -C {folder}"
    return Report(
        "init",
        checks=(Check("written", Outcome.PASS),),
        notes=tuple(told),
        summary=count,
        next=f"tierlock check{where}",
        run={"written": len(new), "kept": len(kept)},
    )
