"""`tierlock capture`: what one host or image really has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.cli.progress import progress
from governance.verdict import Report

if TYPE_CHECKING:
    _MountType = click.ParamType[tuple[str, Path]]
else:  # before click 8.2 the class takes no parameter
    _MountType = click.ParamType


class TargetPath(_MountType):
    """`TARGET=PATH`: what is mounted over the image, and where its files lie here."""

    name = "TARGET=PATH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        """The pair."""
        target, equals, path = str(value).partition("=")
        if not equals or not target or not path:
            self.fail(f"`{value}` is not TARGET=PATH, for example /models=./models", param, ctx)
        return target, Path(path)


@click.command("capture")
@click.option("--service", default="", shell_complete=service_names, help="What its base config declares.")
@click.option(
    "--python", type=click.Path(path_type=Path), help="Packages of this interpreter or environment."
)
@click.option("--pid", type=int, help="Packages and variables of a running server.")
@click.option("--freeze", type=click.Path(path_type=Path), help="Packages from a pip freeze file or a lock.")
@click.option("--weights", type=click.Path(path_type=Path), help="Folder or file of the weights.")
@click.option("--sha256", is_flag=True, help="SHA-256 of the weights besides BLAKE3, for exchange.")
@click.option("--hub-digests", is_flag=True, help="Check files of the hub cache against their names.")
@click.option("--image", default="", help="Image reference; its digest is asked from the registry.")
@click.option("--image-platform", default="", metavar="OS/ARCH", help="Which platform of the image.")
@click.option("--inspect", type=click.Path(path_type=Path), help="Image from `docker inspect` output.")
@click.option(
    "--mount", "mounts", type=TargetPath(), multiple=True, help="What lies over the image. Repeatable."
)
@click.option("--insecure", is_flag=True, help="Allow a registry over plain HTTP.")
@click.option("--no-cache", is_flag=True, help="Hash every file again.")
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), help="Write the record here.")
@root
@reporting
def command(service: str, target: Path | None, root: str | None, output: Output, **given: Any) -> Report:  # noqa: ARG001
    """Record the observed layers of this host: packages, platform, weights, image.

    Without options: the packages of this interpreter and this host. What cannot be found out is recorded as
    unknown, with the reason. Values of secrets are never looked at.

    \b
    Examples:
      tierlock capture -o host.json
      tierlock capture --service summarizer --weights /models/smollm2 -o host.json
      tierlock capture --python /opt/vllm/bin/python --image registry.example/vllm:v0.8.2
      tierlock capture --freeze requirements.txt
      tierlock diff host.json other-host.json
    """
    from governance.cli.capturing import layers, wanted, write
    from governance.fingerprint.capture import take
    from governance.fingerprint.services import capture_report

    what = wanted(service, root or "", given)
    with progress("hashing weights") as advance:
        capture = take(layers(what), what, **_now(), progress=lambda _, done, total: advance(done, total))
    written = write(target, capture)
    return capture_report(capture, written)


def _now() -> dict[str, str]:
    from governance import __version__
    from governance.adapters.clock import stamp

    return {"generated_at": stamp(), "tool": f"tierlock {__version__}"}
