"""The eval client at concurrency 32 against a trivial local server, beside plain aiohttp, httpx and openai.

- Every client is a process of its own and sends the same request so many times; the server is another
  process that answers with fixed bytes. Wall time for one request counts; the server takes its share of it.
- Ours is measured twice: the client alone, and a whole run, with the reading of answers, the scores and a
  file of results. The peers do neither.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.measure import PYTHON, ROOT, Row, table
from bench.peers import interpreter

REQUESTS = int(os.environ.get("TIERLOCK_BENCH_REQUESTS", "4000"))
ROUNDS = int(os.environ.get("TIERLOCK_BENCH_ROUNDS", "5"))
CONCURRENCY = 32
# The share of plain aiohttp's requests per second that the client must reach.
SHARE = 0.8
SERVER = """
import asyncio, json, sys
answer = json.dumps({
    "id": "x", "object": "chat.completion", "created": 1, "model": "tiny",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "four"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8},
}).encode()
head = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n"
reply = head % len(answer) + answer

class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.data = transport, b""

    def data_received(self, data):
        self.data += data
        while True:
            head, end, rest = self.data.partition(b"\\r\\n\\r\\n")
            if not end:
                return
            length = next((int(line.split(b":")[1]) for line in head.split(b"\\r\\n")
                           if line[:15].lower() == b"content-length:"), 0)
            if len(rest) < length:
                return
            self.data = rest[length:]
            self.transport.write(reply)

async def main():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""
BEGIN = """
import asyncio, json, sys, time
port, many, at_once = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
url = f"http://127.0.0.1:{port}/v1"
body = {"model": "tiny", "messages": [{"role": "user", "content": "What is two and two?"}],
        "temperature": 0.1, "seed": 42, "max_tokens": 64}

async def crowd(one):
    left = iter(range(many))
    async def work():
        for _ in left:
            await one()
    await one()
    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    print((time.perf_counter() - start) / many * 1e6)
"""
CLIENTS = {
    "aiohttp": """
import aiohttp
async def main():
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:
        async def one():
            async with session.post(url + "/chat/completions", json=body) as response:
                assert (await response.json())["choices"]
        await crowd(one)
asyncio.run(main())
""",
    "ours": """
from governance.adapters.completions import Caller
from governance.evals.answers import read
async def main():
    async with Caller(url, connections=at_once) as caller:
        async def one():
            reply = await caller.post("/v1/chat/completions", json.dumps(body).encode())
            assert read(reply)[1] is not None
        await crowd(one)
asyncio.run(main())
""",
    "run": """
import os, tempfile
from governance.adapters.lines import Lines
from governance.evals.endpoint import Endpoint
from governance.evals.model import Item, Score, Suite
from governance.evals.results import dump_run
from governance.evals.running import run_suite
from governance.evals.scorers.registry import score_item
from bench.evals import service
prompt = "What is two and two?"
items = tuple(Item(f"i{n}", "maths", "exact", reference="four", prompt=prompt) for n in range(many))
with tempfile.TemporaryDirectory() as folder, Lines(os.path.join(folder, "rows.jsonl")) as lines:
    start = time.perf_counter()
    run = run_suite(Suite("bench", "", items, "d" * 64), service(), Endpoint(url, concurrency=at_once),
                    score=score_item, sink=lambda piece: lines.add([dump_run(piece)]))
    print((time.perf_counter() - start) / many * 1e6)
    assert all(result.score.passed for result in run.results)
""",
    "httpx": """
import httpx
async def main():
    limits = httpx.Limits(max_connections=at_once)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:
        async def one():
            assert (await client.post(url + "/chat/completions", json=body)).json()["choices"]
        await crowd(one)
asyncio.run(main())
""",
    "openai": """
import openai
async def main():
    async with openai.AsyncOpenAI(base_url=url, api_key="none") as client:
        async def one():
            assert (await client.chat.completions.create(**body)).choices
        await crowd(one)
asyncio.run(main())
""",
}


def service() -> object:
    """A service whose configs say what the other clients send."""
    from governance.adapters.files import MemoryTree
    from governance.tiers.config import load_repository

    files = {
        "tierlock.yaml": "version: 1\nservices:\n  bench: {base: b, sampling: s, prompts: p}\n",
        "configs/base/b.yaml": ('kind: base\nmodel: {id: tiny}\nengine: {name: vllm, version: "0.32.0"}\n'),
        "configs/sampling/s.yaml": (
            "kind: sampling\ntemperature: 0.1\nseed: 42\nmax_tokens: 64\nstream: false\nlogprobs: false\n"
        ),
        "configs/prompts/p.yaml": "kind: prompts\n",
    }
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    return load_repository(tree).services["bench"]


def main() -> int:
    """Run every client in turn, print the table. 1 when the client misses its goal."""
    peers = interpreter()
    pythons = {name: peers if name in ("httpx", "openai") else PYTHON for name in CLIENTS}
    with _server() as port:
        times = _measured(pythons, port)
    rows = [
        Row("client, one request", times["ours"], "aiohttp", times["aiohttp"], 1 / SHARE, "us"),
        Row("client, one request", times["ours"], "httpx", times["httpx"], 0.5, "us"),
        Row("client, one request", times["ours"], "openai", times["openai"], 0.25, "us"),
        Row("whole run, one item", times["run"], "openai", times["openai"], 0.75, "us"),
    ]
    print(table(f"eval client, {REQUESTS} requests, {CONCURRENCY} at once", rows))
    share = times["aiohttp"] / times["ours"]
    print(f"  {1e6 / times['ours']:,.0f} requests a second, {share:.2f} of plain aiohttp (at least {SHARE})")
    return 0 if share >= SHARE else 1


def _measured(pythons: Mapping[str, str], port: int) -> dict[str, float]:
    """The median time of one request in microseconds for each client, run in turn."""
    times: dict[str, list[float]] = {name: [] for name in CLIENTS}
    with tempfile.TemporaryDirectory() as folder:
        for name, code in CLIENTS.items():
            Path(folder, f"client_{name}.py").write_text(BEGIN + code)
        for _ in range(ROUNDS):
            for name in CLIENTS:
                times[name].append(_once([pythons[name], str(Path(folder, f"client_{name}.py"))], port))
    return {name: median(values) for name, values in times.items()}


def _once(argv: Sequence[str], port: int) -> float:
    done = subprocess.run(
        [*argv, str(port), str(REQUESTS), str(CONCURRENCY)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{argv[-1]} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return float(done.stdout)


@contextmanager
def _server() -> Iterator[int]:
    """The port of the trivial server, which ends with the block."""
    process = subprocess.Popen([PYTHON, "-c", SERVER], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
