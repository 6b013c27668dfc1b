"""Records what real servers answer, for the unit tests: `.venv/bin/python -m tests.engines.record`.

Needs the environments of `make test-engines`. Left out: the host (`system_env`), paths of this machine,
metrics that count, dates and random names.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from governance.engines.vllm_read import METRIC, SERVER_INFO
from tests.engines.service import CHANGED_ARGUMENTS, CHANGED_VARIABLES, Declared
from tests.support.vllm_server import ROOT, VllmServer, started

FOLDER = ROOT / "tests" / "unit" / "engines" / "fixtures" / "vllm"
MOVING = ("instance_id", "permission", "created")


def main() -> None:
    base = Declared().base
    with tempfile.TemporaryDirectory() as name:
        logs = Path(name)
        with started(base, logs) as server:
            record("0.32.0", server)
        with started(base, logs, version="0.29.0") as server:
            record("0.29.0", server)
        with started(base, logs, arguments=CHANGED_ARGUMENTS, environment=CHANGED_VARIABLES) as server:
            record("0.32.0-changed", server)
        with started(base, logs, development=False) as server:
            record("0.32.0-production", server)


def record(case: str, server: VllmServer) -> None:
    """Write the documents of one server, one file each."""
    get = server.client.get
    answer = server.chat("What is the capital of France?")
    write(case, "version.json", get("/version"))
    write(case, "models.json", get("/v1/models"))
    write(case, "completion.json", {"system_fingerprint": answer["system_fingerprint"]})
    metrics = str(get("/metrics")).splitlines()
    write(case, "metrics.txt", "".join(f"{line}\n" for line in metrics if METRIC in line))
    shown = get(SERVER_INFO)
    if isinstance(shown, Mapping):
        write(case, "server_info.json", {part: shown[part] for part in ("vllm_config", "vllm_env")})


def write(case: str, name: str, document: object) -> None:
    path = FOLDER / case / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(trimmed(document), indent=1) + "\n"
    path.write_text(text, "utf-8")


def trimmed(document: object) -> object:
    """The document without what differs from start to start or from host to host."""
    if isinstance(document, Mapping):
        return {k: trimmed(v) for k, v in document.items() if k not in MOVING and not is_path(v)}
    return [trimmed(each) for each in document] if isinstance(document, list) else document


def is_path(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("/", "vllm_mm_", "VLLM_OBJECT_STORAGE"))


if __name__ == "__main__":
    main()
