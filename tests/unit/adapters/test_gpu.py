"""Asking NVML through ctypes: a library with its real entry points, compiled here; hosts made of files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from governance.adapters.gpu import Nvml, NvmlSlice, kernel_driver, nvml, run_tool, signs_of_gpu
from governance.values import Unknown

STUB = (Path(__file__).parent / "nvml_stub.c").read_text()


def stub(tmp_path: Path, *, init: int = 0, source: str = STUB) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build a stand-in for the NVML library with")
    (tmp_path / "nvml.c").write_text(source.replace("INIT", str(init)))
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(library), str(tmp_path / "nvml.c")],
        check=True,
        capture_output=True,
    )
    return str(library)


def test_nvml_is_asked_for_driver_models_memory_and_slices(tmp_path: Path) -> None:
    found = nvml([stub(tmp_path)])
    assert isinstance(found, Nvml), found
    assert (found.driver, found.cuda) == ("575.57.08", 12090)
    assert [d.uuid for d in found.devices] == ["GPU-1", "GPU-2"]
    assert {(d.name, d.memory_bytes >> 20, d.capability) for d in found.devices} == {
        ("NVIDIA H100 80GB HBM3", 81559, (9, 0))
    }
    assert found.devices[0].mig == (NvmlSlice(60, 9856), NvmlSlice(16, 9856))
    assert found.devices[1].mig is None


def test_a_library_without_a_driver_is_unknown(tmp_path: Path) -> None:
    found = nvml([stub(tmp_path, init=9)])
    assert isinstance(found, Unknown)
    assert "nvmlInit_v2 answered 9" in found.reason


def test_a_library_that_lacks_a_call_is_unknown_and_does_not_crash(tmp_path: Path) -> None:
    old = STUB.replace("nvmlDeviceGetUUID", "nvmlDeviceGetOther")
    found = nvml([stub(tmp_path, source=old)])
    assert isinstance(found, Unknown)
    assert "nvmlDeviceGetUUID" in found.reason


def test_no_library_is_unknown() -> None:
    assert isinstance(nvml(["libno-such-library-at-all.so"]), Unknown)


def host(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_host_without_a_device_shows_none(tmp_path: Path) -> None:
    assert signs_of_gpu(tmp_path) == {}


def test_a_gpu_on_the_bus_is_told_apart_from_one_that_was_given_to_us(tmp_path: Path) -> None:
    """A container without a GPU on a host with one computes on the CPU."""
    bus = tmp_path / "sys/bus/pci/devices"
    for number, (vendor, kind) in enumerate(
        [("0x10de", "0x030200"), ("0x8086", "0x020000"), ("0x10de", "0x0403000")]
    ):
        host(bus / str(number), vendor=vendor + "\n", **{"class": kind + "\n"})
    assert signs_of_gpu(tmp_path) == {"nvidia": "bus"}
    host(tmp_path, dev__nvidia0="")
    assert signs_of_gpu(tmp_path) == {"nvidia": "device"}


def test_a_network_card_of_the_same_maker_is_no_gpu(tmp_path: Path) -> None:
    host(tmp_path / "sys/bus/pci/devices/0", vendor="0x10de\n", **{"class": "0x020000\n"})
    assert signs_of_gpu(tmp_path) == {}


def test_the_devices_of_a_container_count(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").write_text("")
    (tmp_path / "dev/kfd").write_text("")
    assert signs_of_gpu(tmp_path) == {"amd": "device", "nvidia": "device"}


def test_the_kernel_file_is_read_or_its_absence_is_told(tmp_path: Path) -> None:
    assert isinstance(kernel_driver(tmp_path), Unknown)
    host(tmp_path / "proc/driver/nvidia", version="NVRM version: x\n")
    assert kernel_driver(tmp_path) == b"NVRM version: x\n"
    assert signs_of_gpu(tmp_path) == {}


def test_a_tool_answers_fails_or_is_not_there() -> None:
    assert run_tool(sys.executable, "-c", "print(5)") == b"5\n"
    failed = run_tool(sys.executable, "-c", "print('no driver'); raise SystemExit(9)")
    assert isinstance(failed, Unknown)
    assert "no driver" in failed.reason
    missing = run_tool("no-such-tool-anywhere")
    assert isinstance(missing, Unknown)
    assert "not installed" in missing.reason
