"""Recorded outputs of five driver generations: what is the platform, and what only moves by the second."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters.gpu import Nvml, NvmlDevice, NvmlSlice
from governance.fingerprint.gather import gpus_of
from governance.fingerprint.gpu import (
    Gpu,
    Gpus,
    Slice,
    from_kernel,
    from_nvml,
    from_smi_text,
    from_smi_xml,
    layer_value,
    toolkit_of,
    visible,
)
from governance.values import Unknown

RECORDED = Path(__file__).parent / "recorded"
A100 = "NVIDIA A100-SXM4-80GB"


def recorded(name: str) -> bytes:
    return (RECORDED / name).read_bytes()


def known(value: Gpus | Unknown) -> Gpus:
    assert isinstance(value, Gpus), value
    return value


TABLES = [
    ("smi-470-turing.txt", "470.223.02", "11.4", [("Tesla T4", 15109)]),
    ("smi-550-ada.txt", "550.54.15", "12.4", [("NVIDIA L40S", 46068), ("NVIDIA GeForce RTX 4090", 24564)]),
    ("smi-575-hopper.txt", "575.57.08", "12.9", [("NVIDIA H100 80GB HBM3", 81559)]),
    ("smi-535-mig.txt", "535.183.06", "12.2", [(A100, 81920), (A100, 81920)]),
]


@pytest.mark.parametrize(("name", "driver", "cuda", "gpus"), TABLES, ids=[row[0] for row in TABLES])
def test_the_table_of_nvidia_smi_is_read(
    name: str, driver: str, cuda: str, gpus: list[tuple[str, int]]
) -> None:
    found = known(from_smi_text(recorded(name)))
    assert (found.driver, found.driver_cuda) == (driver, cuda)
    assert [(g.name, g.memory_mib) for g in found.gpus] == gpus


def test_a_name_that_nvidia_smi_cut_short_is_unknown() -> None:
    """`Tesla V100-SXM2...` is a 16 GB or a 32 GB card."""
    found = from_smi_text(recorded("smi-418-volta.txt"))
    assert isinstance(found, Unknown)
    assert "nvidia-smi -q -x" in found.reason


@pytest.mark.parametrize("name", ["smi-535-mig", "smi-470-turing"])
def test_text_and_xml_of_one_host_are_one_platform(name: str) -> None:
    text, xml = known(from_smi_text(recorded(f"{name}.txt"))), known(from_smi_xml(recorded(f"{name}.xml")))
    assert layer_value(text) == layer_value(xml)
    assert (text.driver, text.driver_cuda) == (xml.driver, xml.driver_cuda)


def test_nvml_and_nvidia_smi_of_one_host_are_one_platform() -> None:
    slices = (NvmlSlice(28, 19968), NvmlSlice(42, 40192))
    devices = (
        NvmlDevice(A100, "GPU-1", 81920 << 20, (8, 0), slices),
        NvmlDevice(A100, "GPU-2", 81920 << 20, (8, 0), None),
    )
    found = from_nvml(Nvml("535.183.06", 12020, devices))
    assert layer_value(found) == layer_value(known(from_smi_xml(recorded("smi-535-mig.xml"))))
    assert (found.driver, found.driver_cuda) == ("535.183.06", "12.2")
    assert found.gpus[0].capability == "8.0"


def test_mig_slices_are_part_of_the_platform() -> None:
    found = known(from_smi_text(recorded("smi-535-mig.txt")))
    assert found.gpus[0].mig == (Slice(42, 40192), Slice(28, 19968))
    assert found.gpus[1].mig is None
    whole = Gpus(found.driver, found.driver_cuda, (Gpu(A100, 81920), Gpu(A100, 81920)), "")
    assert layer_value(found) != layer_value(whole)


@pytest.mark.parametrize(
    ("old", "new"), [(b"52C", b"71C"), (b"29W", b"69W"), (b"11234MiB", b"3MiB"), (b"37%", b"99%")]
)
def test_temperature_power_memory_in_use_and_load_do_not_count(old: bytes, new: bytes) -> None:
    data = recorded("smi-470-turing.txt")
    assert old in data
    assert layer_value(known(from_smi_text(data))) == layer_value(
        known(from_smi_text(data.replace(old, new)))
    )


@pytest.mark.parametrize("data", [b"", recorded("smi-no-driver.txt"), b"\xff\xfe"])
def test_what_is_no_table_is_unknown(data: bytes) -> None:
    assert isinstance(from_smi_text(data), Unknown)
    assert isinstance(from_smi_xml(data), Unknown)


def test_xml_that_declares_entities_is_refused() -> None:
    """`nvidia-smi` never does; an alias bomb does."""
    entities = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    bomb = entities + b"<nvidia_smi_log><driver_version>&b;</driver_version></nvidia_smi_log>"
    found = from_smi_xml(bomb)
    assert isinstance(found, Unknown)
    assert "entities" in found.reason


def test_xml_that_was_cut_off_is_unknown() -> None:
    assert isinstance(from_smi_xml(recorded("smi-535-mig.xml")[:900]), Unknown)


@pytest.mark.parametrize(
    ("name", "driver"), [("proc-470.txt", "470.223.02"), ("proc-575-open.txt", "575.57.08")]
)
def test_the_kernel_names_its_driver(name: str, driver: str) -> None:
    assert from_kernel(recorded(name)) == driver


def test_a_kernel_file_without_a_version_is_unknown() -> None:
    assert isinstance(from_kernel(b"NVRM"), Unknown)


def test_the_toolkit_is_a_version_of_its_own() -> None:
    assert toolkit_of(recorded("nvcc-11.8.txt")) == "11.8"
    assert toolkit_of(b"no such thing") == ""


HOST = Gpus("1", "2", (Gpu("a", 1, uuid="GPU-11"), Gpu("b", 2, uuid="GPU-22")), "")


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, "ab"),
        ("0", "a"),
        ("1,0", "ba"),
        ("GPU-2", "b"),
        ("", ""),
        ("-1", ""),
        ("1,-1,0", "b"),
        ("all", "ab"),
    ],
)
def test_only_the_visible_gpus_count_in_their_order(choice: str | None, names: str) -> None:
    assert "".join(g.name for g in known(visible(HOST, choice)).gpus) == names


@pytest.mark.parametrize("choice", ["7", "GPU-9", "GPU-"])
def test_a_visible_device_that_names_no_gpu_is_unknown(choice: str) -> None:
    assert isinstance(visible(HOST, choice), Unknown)


def test_no_gpu_is_a_fact_and_not_unknown() -> None:
    assert layer_value(Gpus("", "", (), "no GPU device")) == {"gpus": "none"}


def host(
    signs: dict[str, str], *, nvml: Nvml | Unknown, xml: bytes | Unknown, text: bytes | Unknown
) -> Gpus | Unknown:
    """What a host says whose tools answer like this."""
    return gpus_of(signs, lambda: nvml, lambda *command: xml if "-x" in command else text, None)


NO_NVML, NO_TOOL = Unknown("the NVML library is not installed"), Unknown("`nvidia-smi` is not installed")
DEVICE = {"nvidia": "device"}


def test_nvml_is_asked_before_nvidia_smi() -> None:
    answer = Nvml("575.57.08", 12090, (NvmlDevice("H100", "GPU-1", 81559 << 20, (9, 0), None),))
    found = known(host(DEVICE, nvml=answer, xml=recorded("smi-470-turing.xml"), text=NO_TOOL))
    assert (found.source, found.driver_cuda) == ("NVML", "12.9")


def test_without_nvml_the_log_of_nvidia_smi_is_read_and_then_its_table() -> None:
    xml, text = recorded("smi-470-turing.xml"), recorded("smi-470-turing.txt")
    assert known(host(DEVICE, nvml=NO_NVML, xml=xml, text=text)).source == "nvidia-smi -q -x"
    assert known(host(DEVICE, nvml=NO_NVML, xml=NO_TOOL, text=text)).source == "nvidia-smi"


def test_a_gpu_that_nobody_can_ask_is_unknown_with_every_reason() -> None:
    found = host(DEVICE, nvml=NO_NVML, xml=NO_TOOL, text=recorded("smi-418-volta.txt"))
    assert isinstance(found, Unknown)
    for reason in ("NVML library", "`nvidia-smi` is not installed", "cut the name"):
        assert reason in found.reason


@pytest.mark.parametrize("signs", [{}, {"nvidia": "bus"}, {"amd": "bus"}])
def test_a_process_that_was_given_no_gpu_has_none(signs: dict[str, str]) -> None:
    found = known(host(signs, nvml=NO_NVML, xml=NO_TOOL, text=NO_TOOL))
    assert layer_value(found) == {"gpus": "none"}


def test_a_gpu_of_another_maker_is_unknown_and_not_none() -> None:
    assert isinstance(host({"amd": "device"}, nvml=NO_NVML, xml=NO_TOOL, text=NO_TOOL), Unknown)
