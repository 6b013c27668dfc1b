"""`tierlock import`: what runs today, as tier files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from governance.adapters.files import read_file, write_all
from governance.cli.options import reporting
from governance.cli.output import Output
from governance.errors import Usage
from governance.verdict import Report


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--output", "folder", type=click.Path(file_okay=False), help="Write the tier files here.")
@click.option("--name", default="", help="Name of the service; the default is the one in the source.")
@click.option("--force", is_flag=True, help="Replace tier files that exist.")
@reporting
def command(files: tuple[str, ...], folder: str | None, name: str, force: bool, output: Output) -> Report:  # noqa: ARG001
    """Turn what runs today into tier files.

    FILES are launch scripts, compose files, Kubernetes manifests, Helm values, KServe and SGLang resources,
    Ollama Modelfiles, TensorRT-LLM configs, and the model's generation_config.json; `-` is standard input.
    What a source leaves open is listed, with what to write; it is never filled in. Without -o nothing is
    written.

    \b
    Examples:
      tierlock import deployment.yaml generation_config.json -o .
      tierlock import start.sh --name summarizer
      ps -o args= -p 4242 | tierlock import - -o .
    """
    from governance.engines.sources.importing import import_sources

    result = import_sources({_shown(file): _read(file) for file in files}, name=name)
    if folder is None:
        return _planned(result.report, sorted(result.files))
    top = Path(folder)
    taken = [path for path in result.files if (top / path).exists()]
    if taken and not force:
        raise Usage(f"`{taken[0]}` exists", where=folder, hint="name another folder with -o, or add --force")
    write_all(top, result.files)
    return _written(result.report, sorted(result.files))


def _shown(file: str) -> str:
    return "stdin.sh" if file == "-" else Path(file).name if Path(file).is_absolute() else file


def _read(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else read_file(file)


def _planned(report: Report, paths: list[str]) -> Report:
    notes = (*report.notes, *(f"would write  {path}" for path in paths))
    return replace(report, notes=notes, next="tierlock import … -o ." if paths else "")


def _written(report: Report, paths: list[str]) -> Report:
    return replace(report, notes=(*report.notes, *(f"wrote  {path}" for path in paths)))
