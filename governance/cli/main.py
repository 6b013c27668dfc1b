"""The command line: the commands by name, how errors are worded, and every exit code.

- A command parses its options, calls one use case and returns what is to be shown. Only here is anything
  printed, and only here does a run end.
- Exit codes: 0 pass, 1 block, 2 usage, 3 undecided, 70 bug in tierlock, 130 interrupted. No flag, no format
  and no closed pipe changes the code of a verdict.
- Standard output is the report. Errors, hints and progress go to standard error.
- A bug is told in three lines; `TIERLOCK_DEBUG=1` shows the traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from governance.errors import TierlockError
from governance.verdict import ExitCode

if TYPE_CHECKING:
    from typing import Self

    from governance.cli.output import Finished

ISSUES = "https://github.com/tierlock/tierlock/issues"


def run(args: Sequence[str]) -> int:
    """The exit code of `tierlock` with `args`; everything it has to say is said."""
    return guarded(lambda: _command(args))


def guarded(action: Callable[[], int]) -> int:
    """The exit code of `action`, with whatever it raises told to the user and turned into its code."""
    with _Interrupts() as interrupts:
        code = _told(action)
    return _interrupted() if interrupts.heard and code != ExitCode.INTERRUPTED else code


class _Interrupts:
    """Ctrl-C, remembered: a finaliser or a compiled extension may swallow the exception it raises.

    What Python would print about a swallowed one is left out; the exit code tells it.
    """

    def __init__(self) -> None:
        self.heard = False

    def __enter__(self) -> Self:
        import signal

        self._hook = sys.unraisablehook
        self._mine = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        try:
            if self._mine:
                signal.signal(signal.SIGINT, self._hear)
                sys.unraisablehook = self._unraisable
        except ValueError:  # only the main thread may; elsewhere no interrupt arrives
            self._mine = False
        return self

    def __exit__(self, *_: object) -> None:
        import signal

        if self._mine:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = self._hook

    def _hear(self, number: int, frame: object) -> None:  # noqa: ARG002
        self.heard = True
        raise KeyboardInterrupt

    def _unraisable(self, told: Any) -> None:
        if told.exc_type is not KeyboardInterrupt:
            self._hook(told)


def _interrupted() -> int:
    _complain("interrupted; nothing half-written is left")
    return ExitCode.INTERRUPTED


def _told(action: Callable[[], int]) -> int:
    try:
        return action()
    except TierlockError as err:
        _complain(str(err), hint=err.hint)
        return err.exit_code
    except KeyboardInterrupt:
        return _interrupted()
    except RecursionError:
        _complain("the input is nested too deeply")
        return ExitCode.UNDECIDED
    except MemoryError:
        _complain("out of memory", hint="is a data file below a governed folder?")
        return ExitCode.UNDECIDED
    except Exception as err:  # noqa: BLE001  the one place where a bug is worded
        return _bug(err)


def _command(args: Sequence[str]) -> int:
    import click

    from governance.cli.group import tierlock

    try:
        done = tierlock.main(args=list(args), prog_name="tierlock", standalone_mode=False)
    except click.UsageError as err:
        _usage(err)
        return ExitCode.USAGE
    except click.ClickException as err:
        _complain(err.format_message())
        return ExitCode.USAGE
    except click.Abort:
        raise KeyboardInterrupt from None
    return _end(done)


def _end(done: Any) -> int:
    """Show what a command returned. Help and the like end inside click with a plain number."""
    if done is None or isinstance(done, int):
        return int(done or ExitCode.PASS)
    from governance.cli.output import deliver

    finished: Finished = done
    deliver(finished)
    return int(finished.report.exit_code) if finished.then is None else finished.then()


def _usage(err: Any) -> None:
    where = err.ctx.command_path if err.ctx else "tierlock"
    hint = getattr(err, "hint", "") or f"{where} --help"
    message = err.format_message()
    _complain(message[:1].lower() + message[1:].rstrip("."), hint=hint)


def _bug(err: Exception) -> int:
    if os.environ.get("TIERLOCK_DEBUG"):
        import traceback

        traceback.print_exception(err)
    from governance import __version__

    _complain(f"this is a bug in tierlock {__version__}: {type(err).__name__}: {err}")
    _say(f"  please report it: {ISSUES}")
    _say("  with the output of the same command under TIERLOCK_DEBUG=1")
    return ExitCode.BUG


def _complain(message: str, *, hint: str = "") -> None:
    _say(f"tierlock: {message}")
    if hint:
        _say(f"  hint: {hint}")


def _say(line: str) -> None:
    """One line on standard error; a closed one is nobody listening, not an error."""
    from governance.cli.output import write
    from governance.report.escape import plain

    write(sys.stderr, f"{plain(line)}\n")
