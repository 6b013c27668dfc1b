"""Runs the llama.cpp build inside xllamacpp as a server, in this process, until it is ended.

    python tests/support/xllamacpp_server.py WEIGHTS PORT [ATTENTION]

ATTENTION is `flash` (the default) or `eager`.

A second, different build of the same engine, for tests of what an upgrade moves.
"""

from __future__ import annotations

import signal
import sys


def main(weights: str, port: str, attention: str = "flash") -> int:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_ctx = 2048
    params.n_parallel = 2
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    kind = xllamacpp.llama_flash_attn_type
    params.flash_attn_type = {
        "flash": kind.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "eager": kind.LLAMA_FLASH_ATTN_TYPE_DISABLED,
    }[attention]
    params.endpoint_metrics = params.endpoint_props = params.endpoint_slots = True
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
