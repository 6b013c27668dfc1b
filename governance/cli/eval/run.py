"""`tierlock eval run`: does the service answer as its suite asks?"""

from __future__ import annotations

import click

from governance.cli.eval.running import Wanted, run
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("run")
@click.argument("service", shell_complete=service_names)
@click.option(
    "--suite", metavar="NAME", default="", help="evals/NAME.jsonl. Default: the service's smoke suite."
)
@click.option("--url", metavar="URL", default="", help="Another address than the service's endpoint.")
@click.option(
    "--at", "rev", metavar="REV", default="", help="Configs and suite as of a commit, branch or tag."
)
@click.option("--against", metavar="RUN", default="", help="Hold it against a results file or a release.")
@click.option("--out", metavar="FILE", default="", help="Where the results go. Default: in the git folder.")
@click.option("--resume", is_flag=True, help="Go on with a broken run: ask only what has no answer.")
@click.option("--record", is_flag=True, help="Keep evidence and results under .tierlock/evidence.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask the first N items only; no verdict.")
@click.option(
    "--stream/--no-stream", default=None, help="Take answers piece by piece. Default: as configured."
)
@click.option("--unobserved", is_flag=True, help="Do not read the server back: a hosted endpoint.")
@root
@reporting
def command(
    service: str,
    suite: str,
    url: str,
    rev: str,
    against: str,
    out: str,
    resume: bool,
    record: bool,
    limit: int | None,
    stream: bool | None,
    unobserved: bool,
    root: str | None,
    output: Output,
) -> Report:
    """Ask SERVICE every item of a suite and judge the answers.

    Requests are those of the service: its system text, examples and template, and every decoding parameter of
    its sampling config in the words of the engine. The server is read back before and after. What was not
    answered is counted by what became of it and is never a wrong answer; too little coverage is undecided.

    Results are written as they come, one JSON row each, for pandas, DuckDB and a text editor.

    \b
    Examples:
      tierlock eval run summarizer
      tierlock eval run summarizer --suite full --record
      tierlock eval run summarizer --url http://10.0.0.7:8000/v1 --out canary.jsonl
      tierlock eval run summarizer --suite full --resume
    """
    wanted = Wanted(
        service=service,
        suite=suite,
        url=url,
        rev=rev,
        against=against,
        out=out,
        resume=resume,
        record=record,
        limit=limit,
        stream=stream,
        observed=not unobserved,
    )
    return run(wanted, root or "", show_reasons=output.show_content)
