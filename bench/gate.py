"""`python -m bench.gate`: what the start-up gate adds before the server runs, with digests that are known.

A service with a golden release that embeds a capture (program and libraries, host, weights) is started on
`/bin/true`, which ends at once: the whole time is the gate's. Weights are the demo's, beside four files of
2 GiB that a manifest of a large model would name. The peer is the same start without a gate, plus the half
second that is allowed.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

from bench.measure import Row, console_script, processes, table
from governance.adapters.files import write_all
from governance.cli.scaffold import files
from governance.fingerprint.capture import Wanted, dump, take
from governance.fingerprint.layers import LAYERS
from governance.fingerprint.services import fingerprint_of
from governance.release import golden as pointers
from governance.release.golden import Entry, Golden
from governance.release.record import Record, digest_of, path_of
from governance.release.record import dump as dump_record
from governance.release.sides import Place
from governance.tiers.config import TIERS
from governance.tiers.writer import dump as dump_yaml
from governance.values import Unknown

SERVICE = "summarizer"
ENGINE = Path("/bin/true")
ALLOWED = 500.0
ROUNDS = 15
SHARDS, SHARD = 4, 2 << 30
THEN = "2026-11-30T09:00:00Z"


def repository(root: Path, weights: Path) -> None:
    """A committed repository whose golden release is this host."""
    write_all(root, {path: data for path, data in files("llama.cpp").items() if not path.startswith(".tier")})
    settings = {
        "version": 1,
        "services": {
            SERVICE: {
                "base": "smollm2", "sampling": "factual", "prompts": "summarize",
                "endpoint": {"url": "http://127.0.0.1:8080/v1"},
                "deploy": {"driver": "process", "port": 8080, "binary": str(ENGINE), "weights": str(weights)},
            }
        },
    }  # fmt: skip
    (root / "tierlock.yaml").write_text(dump_yaml(settings))
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "--quiet", "-m", "v1")
    release(root, weights)


def git(root: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=root, check=True)


def release(root: Path, weights: Path) -> None:
    """The record of HEAD with a capture of this host, and golden at it."""
    place = Place(root)
    repository = place.git()
    assert repository is not None
    commit = repository.run("rev-parse", "HEAD").decode().strip()
    service = place.state(commit).service(SERVICE)
    assert service is not None
    wanted = Wanted(program=ENGINE, weights=weights, cache=cache(root))
    capture = take(("packages", "platform", "weights"), wanted, generated_at=THEN, tool="bench")
    found = fingerprint_of(service, capture)
    fold = found.only(TIERS).fold()
    assert isinstance(fold, str)
    record = Record(
        SERVICE, "v1", THEN, commit, fold,
        {name: found.layers.get(name, Unknown("not captured")) for name in LAYERS},
        {tier: str(service.tree[tier]) for tier in TIERS},
        capture=json.loads(dump(capture)), actor="bench", reason="bench", tool="bench",
    )  # fmt: skip
    data = dump_record(record)
    entry = Entry("v1", fold, digest_of(data), THEN, "bench", "bench")
    golden = pointers.dump(pointers.pointed(Golden(SERVICE), entry))
    write_all(root, {path_of(SERVICE, "v1"): data, pointers.path_of(SERVICE): golden})


def cache(root: Path) -> Path:
    return root.parent / "cache" / "tierlock" / "digests"


def shards(folder: Path, real: Path) -> Path:
    """A folder of weights: the demo's file and sparse ones, old enough to be remembered."""
    folder.mkdir()
    (folder / real.name).write_bytes(real.read_bytes())
    for number in range(SHARDS):
        with (folder / f"model-{number:05}.safetensors.bin").open("wb") as file:
            file.truncate(SHARD)
    for file in folder.iterdir():
        os.utime(file, (1_000_000_000, 1_000_000_000))
    return folder


def main() -> None:
    """Measure and print."""
    from governance.adapters.demo_engine import find

    engine = find()
    if isinstance(engine, Unknown):
        print(f"left out: {engine.reason}")
        return
    with tempfile.TemporaryDirectory(prefix="tierlock-bench-") as scratch:
        folder = Path(scratch)
        root = folder / "repository"
        root.mkdir()
        repository(root, shards(folder / "weights", engine.weights))
        tierlock = console_script(folder)
        env = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        commands = {
            "gate": [tierlock, "serve", SERVICE, "--every", "0"],
            "gate and watcher": [tierlock, "serve", SERVICE],
            "plain": [str(ENGINE)],
        }
        times = processes(commands, rounds=ROUNDS, cwd=root, env=env)
    peer = ALLOWED + times["plain"]
    rows = [
        Row(f"{name}, until the server runs", times[name], "half a second", peer, 1.0)
        for name in ("gate", "gate and watcher")
    ]
    print(table("starting a server through the gate, weights of 8 GiB with known digests", rows))
    if not all(row.met for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
