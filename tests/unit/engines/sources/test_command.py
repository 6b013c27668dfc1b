"""Launch commands as people write them."""

from __future__ import annotations

import shlex

import pytest

from governance.engines.sources.command import expand, read_command, read_mount, read_script, references
from governance.engines.sources.model import Mount


def test_a_bash_wrapper_is_opened_and_its_installs_are_kept() -> None:
    """What a start command installs is not in the image its digest names."""
    words = ["/bin/bash", "-c", "pip install -q metrics numpy && exec vllm serve /models/a --dtype float16"]
    command = read_command(words, {})
    assert command.argv == ("vllm", "serve", "/models/a", "--dtype", "float16")
    assert command.installs == ("pip install -q metrics numpy",)


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("exec vllm serve a/b", ("vllm", "serve", "a/b")),
        ("A=1 B='x y' vllm serve a/b", ("vllm", "serve", "a/b")),
        ("env A=1 nohup vllm serve a/b", ("vllm", "serve", "a/b")),
        ("sh -euxc 'vllm serve a/b'", ("vllm", "serve", "a/b")),
        ("bash -lc 'cd /srv; vllm serve a/b'", ("vllm", "serve", "a/b")),
    ],
)
def test_wrappers_around_a_server_are_seen_through(line: str, argv: tuple[str, ...]) -> None:
    assert read_command(shlex.split(line), {}).argv == argv


def test_a_script_sets_variables_for_the_server_it_ends_in() -> None:
    text = (
        "#!/bin/sh\nset -e\nexport VLLM_USE_V1=1\nMODEL=a/b\npip install extra\n"
        "exec vllm serve $MODEL \\\n  --dtype half  # the T4 has no bfloat16\n"
    )
    command = read_script(text, {})
    assert command.argv == ("vllm", "serve", "a/b", "--dtype", "half")
    assert command.environment == {"VLLM_USE_V1": "1"}
    assert command.installs == ("pip install extra",)


def test_a_docker_run_gives_image_variables_mounts_and_the_servers_arguments() -> None:
    line = (
        "docker run --gpus all -v ~/.cache:/root/.cache -e HF_TOKEN -e A=b --ipc=host "
        "--shm-size 1g vllm/vllm-openai:v0.8.4 --model a/b"
    )
    command = read_command(shlex.split(line), {})
    assert command.image == "vllm/vllm-openai:v0.8.4"
    assert command.argv == ("--model", "a/b")
    assert command.environment == {"HF_TOKEN": "env:HF_TOKEN", "A": "b"}
    assert command.mounts == (Mount("~/.cache", "/root/.cache"),)
    assert command.gpus == "all"


@pytest.mark.parametrize(
    ("text", "mounts"),
    [
        ("./a.py:/srv/a.py:ro", [Mount("./a.py", "/srv/a.py", True)]),
        ("${DIR:-./models}:/models", [Mount("${DIR:-./models}", "/models")]),
        ("type=bind,source=/a,target=/b,readonly", [Mount("/a", "/b", True)]),
        ("/only/a/container/path", []),
    ],
)
def test_mounts_are_read_in_every_spelling(text: str, mounts: list[Mount]) -> None:
    assert read_mount(text) == mounts


def test_only_values_the_source_sets_are_put_in() -> None:
    """The importing host's own environment must not leak into tier files."""
    assert expand("$(A) ${B:-x} $C", {"A": "1"}) == "1 x $C"
    assert references("$(A) ${B} $C") == ("A", "B", "C")
