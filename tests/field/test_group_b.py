"""Group B of the field cases: environments that look the same and are not, or differ only to the eye.

Inputs are the public cases'; lists, inspect output and driver tables are read as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from governance.adapters.files import MemoryTree
from governance.adapters.packages import distributions
from governance.adapters.weights import digests, list_files
from governance.engines.sources.importing import import_sources
from governance.fingerprint import gpu, platform
from governance.fingerprint.capture import Wanted, from_list, take
from governance.fingerprint.compare import capture_changes, compare_captures
from governance.fingerprint.image import Image, Mount, engine_version_differs, from_inspect, with_mounts
from governance.fingerprint.packages import Packages, from_distributions
from governance.fingerprint.platform import Framework, Platform
from governance.fingerprint.record import Capture
from governance.report.text import render as as_text
from governance.tiers.check import check
from governance.tiers.writer import dump
from governance.values import Unknown
from governance.verdict import Finding, Outcome, Report, Severity
from tests.support.distributions import install
from tests.support.rules import TODAY, facts

CASES = Path(__file__).parent / "cases"
AT = "2026-11-03T10:00:00Z"


def data(path: str) -> bytes:
    return (CASES / path).read_bytes()


def values(path: str) -> Any:
    return json.loads(data(path))


def listed(path: str) -> Capture:
    """A capture made from a list."""
    return from_list(data(path), path, generated_at=AT, tool="0.1.0")


def packages(path: str) -> Packages:
    found = listed(path).packages
    assert isinstance(found, Packages)
    return found


def state(left: Capture, right: Capture) -> str:
    """What became of the one layer both have."""
    (layer,) = compare_captures(left, right)
    return layer.state


def capture(**layers: object) -> Capture:
    return Capture(AT, "0.1.0", **layers)  # type: ignore[arg-type]


def checked_image(reference: str) -> Report:
    """`tierlock check` on a base config with this image."""
    tree: dict[str, Any] = {
        "kind": "base",
        "model": {"id": "acme/tern-7b-chat", "revision": "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"},
        "engine": {"name": "vllm", "version": "0.8.4"},
        "image": {"ref": reference},
    }
    files = {
        "configs/base/tern.yaml": dump(tree).encode(),
        "tierlock.yaml": b"version: 1\nservices: {}\n",
    }
    return check(MemoryTree(files), today=TODAY, engine_facts=facts())


def check_import(files: Mapping[str, bytes]) -> Report:
    """`tierlock check` on what an import wrote."""
    return check(MemoryTree(files), today=TODAY, engine_facts=facts())


def codes(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.code for finding in findings}


class TestB01:
    """pip freeze in conda lists build-machine paths instead of versions."""

    def environment(self, folder: Path, host: int, metadata: int) -> Capture:
        """The host's environment: its metadata, and the build paths of its freeze as direct URLs."""
        paths = {}
        for line in data(f"B01/freeze-host{host}.txt").decode().splitlines():
            name, sign, url = line.partition(" @ ")
            if sign:
                paths[name] = {"url": url, "dir_info": {}}
        site = folder / f"host{host}-{metadata}" / "site-packages"
        for name, version in values(f"B01/metadata-host{metadata}.json").items():
            install(site, name, version, direct_url=paths.get(name))
        return capture(packages=from_distributions(distributions([str(site)])))

    def test_hosts_that_differ_in_build_folders_only_are_the_same(self, tmp_path: Path) -> None:
        assert state(self.environment(tmp_path, 1, 1), self.environment(tmp_path, 2, 2)) == "same"

    def test_another_numpy_differs(self, tmp_path: Path) -> None:
        assert state(self.environment(tmp_path, 1, 1), self.environment(tmp_path, 1, 3)) == "changed"

    def test_without_metadata_the_layer_cannot_be_verified_and_the_two_are_named(self) -> None:
        host1, host2 = listed("B01/freeze-host1.txt"), listed("B01/freeze-host2.txt")
        assert state(host1, host2) == "unknown"
        assert state(host1, host1) == "unknown"
        found = [f for f in host1.findings if f.code == "TL951"]
        assert [(f.key, f.line) for f in found] == [("numpy", 1), ("pillow", 2)]
        assert len(packages("B01/freeze-host1.txt").packages) == 3

    def test_a_local_path_is_shown_nowhere(self, tmp_path: Path) -> None:
        for found in (listed("B01/freeze-host1.txt"), self.environment(tmp_path, 1, 1)):
            assert "buildbot" not in repr(found)
            assert "build_81c" not in repr(found)


class TestB03:
    """The CUDA build label lost or swapped: +cu124, +cpu, none."""

    @pytest.mark.parametrize(("left", "right", "expected"), [
        ("a", "b", "changed"), ("a", "c", "changed"), ("b", "c", "changed"), ("a", "d", "same"),
    ])  # fmt: skip
    def test_the_label_counts_and_its_case_does_not(self, left: str, right: str, expected: str) -> None:
        assert state(listed(f"B03/{left}.txt"), listed(f"B03/{right}.txt")) == expected

    def host(self, cuda: str, *, with_gpu: bool) -> Platform:
        cards = (gpu.Gpu("NVIDIA L40S", 46068),) if with_gpu else ()
        gpus = gpu.Gpus("550.54.15" if with_gpu else "", "12.4" if with_gpu else "", cards, "NVML")
        return Platform({}, gpus, Framework(cuda=cuda), os_packages={})

    def test_a_cpu_build_on_a_gpu_host_is_an_error(self) -> None:
        runtime = values("B03/runtime-b.json")
        host = self.host(runtime["torch_cuda"] or "", with_gpu=runtime["gpu_present"])
        (finding,) = platform.contradictions(host, packages("B03/b.txt"))
        assert finding.code == "TL954"
        assert finding.blocks

    def test_no_label_alone_is_a_warning(self) -> None:
        (finding,) = platform.contradictions(self.host("", with_gpu=False), packages("B03/c.txt"))
        assert (finding.code, finding.severity) == ("TL953", Severity.WARNING)

    def test_the_framework_tells_the_build_that_the_label_does_not(self) -> None:
        host = self.host(values("B03/runtime-c.json")["torch_cuda"], with_gpu=False)
        assert platform.contradictions(host, packages("B03/c.txt")) == ()
        assert platform.parts(host)["framework"] == {"cuda": "12.4"}


class TestB04:
    """The same packages in other spelling, order, line ends and comments."""

    @pytest.mark.parametrize(("right", "expected"), [("b", "same"), ("c", "changed"), ("d", "same")])
    def test_spelling_is_not_a_difference_and_a_post_release_is(self, right: str, expected: str) -> None:
        assert state(listed("B04/a.txt"), listed(f"B04/{right}.txt")) == expected

    def test_the_second_list_really_has_other_line_ends(self) -> None:
        assert b"#" in data("B04/b.txt")
        text = data("B04/a.txt").replace(b"\n", b"\r\n")
        crlf = from_list(text, "a.txt", generated_at=AT, tool="0.1.0")
        assert state(listed("B04/a.txt"), crlf) == "same"

    def test_one_package_twice_is_an_error_that_names_both_lines(self) -> None:
        found = listed("B04/dup.txt")
        (finding,) = found.findings
        assert finding.blocks
        for part in ("0.8.4", "0.7.3", "dup.txt:1", "dup.txt:2"):
            assert part in finding.message
        assert isinstance(found.digests()["packages"], Unknown)


class TestB06:
    """A tag that was pushed again, and a tag whose contents are another version."""

    def deployed(self, name: str) -> str:
        return data(f"B06/{name}.yaml").decode().partition(": ")[2].strip()

    @pytest.mark.parametrize(("name", "blocked"), [
        ("deploy-tag", True), ("deploy-latest", True), ("deploy-digest", False),
    ])  # fmt: skip
    def test_only_a_digest_pins_an_image(self, name: str, blocked: bool) -> None:
        found = [f for f in checked_image(self.deployed(name)).findings if f.code == "TL250"]
        assert bool(found) is blocked
        assert all(f.blocks for f in found)

    def inspected(self, name: str) -> Image:
        found = from_inspect(data(f"B06/{name}.json"))
        assert isinstance(found, Image)
        return found

    def test_two_digests_under_one_tag_are_two_images(self) -> None:
        first, second = (self.inspected(f"inspect-{day}") for day in ("0301", "0308"))
        assert first.reference == second.reference
        assert state(capture(image=first), capture(image=second)) == "changed"
        assert state(capture(image=first), capture(image=first)) == "same"

    def test_a_label_that_is_not_the_engine_inside_blocks(self) -> None:
        actual = values("B06/engine-in-mislabelled.json")["vllm.__version__"]
        label = self.inspected("inspect-mislabelled").labels["org.opencontainers.image.version"]
        (finding,) = engine_version_differs(label, actual, engine="vllm", source="image label")
        assert finding.blocks
        assert "0.8.4" in finding.message
        assert "0.7.1" in finding.message

    def test_a_capture_holds_label_config_and_installed_engine_against_each_other(self) -> None:
        wanted = Wanted(
            package_list=("freeze.txt", b"vllm==0.7.1\n"),
            inspect=data("B06/inspect-mislabelled.json"),
            engine=("vllm", "0.8.4"),
        )
        found = take(("packages", "image"), wanted, generated_at=AT, tool="0.1.0")
        messages = [f.message for f in found.findings if f.code == "TL956"]
        assert len(messages) == 2
        assert any("image label" in message for message in messages)


class TestB08:
    """Four different "CUDA versions" on one host."""

    def host(self, name: str) -> Platform:
        found = gpu.from_smi_text(data(f"B08/{name}.txt"))
        assert isinstance(found, gpu.Gpus), found
        runtime = values("B08/torch.json")
        framework = Framework(cuda=runtime["torch.version.cuda"], nccl=runtime["nccl"].split()[0])
        toolkit = gpu.toolkit_of(data("B08/nvcc.txt"))
        return Platform({}, found, framework, os_packages={}, evidence={"toolkit": toolkit})

    def test_they_are_four_fields(self) -> None:
        host = self.host("nvidia-smi")
        assert isinstance(host.gpus, gpu.Gpus)
        assert (host.gpus.driver, host.gpus.driver_cuda) == ("535.183.06", "12.2")
        assert (host.framework.cuda, host.evidence["toolkit"]) == ("12.4", "11.8")

    def test_temperature_power_memory_in_use_and_load_are_no_difference(self) -> None:
        before, later = (capture(platform=self.host(n)) for n in ("nvidia-smi", "nvidia-smi-later"))
        assert state(before, later) == "same"

    def test_a_new_driver_moves_the_driver_and_nothing_else(self) -> None:
        before, after = (capture(platform=self.host(n)) for n in ("nvidia-smi", "nvidia-smi-newdriver"))
        assert state(before, after) == "changed"
        left, right = before.parts(), after.parts()
        assert {name for name in left if left[name] != right[name]} == {"driver"}
        assert {c.key for c in capture_changes(before, after)} == {"driver.version", "driver.cuda"}

    def test_a_framework_newer_than_the_driver_is_noticed(self) -> None:
        (finding,) = platform.contradictions(self.host("nvidia-smi"), None)
        assert finding.code == "TL955"
        assert "12.4" in finding.message
        assert "12.2" in finding.message
        assert platform.contradictions(self.host("nvidia-smi-newdriver"), None) == ()

    def test_the_toolkit_moves_nothing(self) -> None:
        host = self.host("nvidia-smi")
        other = Platform(host.interpreter, host.gpus, host.framework, os_packages={}, evidence={})
        assert state(capture(platform=host), capture(platform=other)) == "same"


class TestB10:
    """The image digest is pinned, but packages are installed and files mounted at start."""

    def test_the_compose_file_is_blocked_for_its_install_and_its_mount(self) -> None:
        """A digest names no version, so the import leaves that one key to a person."""
        result = import_sources({"compose.yaml": data("B10/compose.yaml")})
        assert any(f.key == "engine.version" for f in check_import(result.files).findings)
        named = {
            path: text.replace(b"name: vllm", b"name: vllm\n  version: 0.8.4")
            for path, text in result.files.items()
        }
        report = check_import(named)
        assert report.outcome is Outcome.BLOCK
        assert {"TL252", "TL254"} <= codes(report.findings)
        assert "sampler.py" in as_text(report)

    def test_the_running_packages_differ_under_one_digest(self) -> None:
        image = Image("r", manifest="sha256:" + "c1" * 32)
        days = [capture(packages=packages(f"B10/freeze-{d}.txt"), image=image) for d in ("monday", "friday")]
        states = {layer.name: layer.state for layer in compare_captures(*days)}
        assert states == {"packages": "changed", "image": "same"}
        (change,) = capture_changes(*days)
        assert (change.key, change.before, change.after) == ("numpy", "1.26.4", "2.2.0")

    def mounted(self, folder: str) -> Capture:
        listing = list_files(CASES / "B10" / folder / "sampler.py")
        digest = digests(listing.files, ("sha256",))["sampler.py"]["sha256"]
        image = Image("r", manifest="sha256:" + "c1" * 32)
        return capture(
            image=with_mounts(image, [Mount("/usr/lib/python3/dist-packages/vllm/sampler.py", digest)])
        )

    def test_a_file_mounted_over_the_engine_counts_by_its_bytes(self) -> None:
        assert state(self.mounted("hotfix"), self.mounted("hotfix_rev2")) == "changed"
        assert state(self.mounted("hotfix"), self.mounted("hotfix")) == "same"

    def test_a_mount_without_a_digest_is_not_equal_to_its_image(self) -> None:
        bare = capture(image=with_mounts(Image("r", manifest="sha256:" + "c1" * 32), [Mount("/x")]))
        assert state(bare, bare) == "unknown"

    def host(self, packages: dict[str, str] | None) -> Capture:
        return capture(platform=Platform({}, gpu.Gpus("", "", (), ""), os_packages=packages))

    def test_os_packages_are_a_part_of_their_own(self) -> None:
        monday, friday = (
            self.host(platform.dpkg_packages(data(f"B10/dpkg-{day}.txt"))) for day in ("monday", "friday")
        )
        left, right = monday.parts(), friday.parts()
        assert {name for name in left if left[name] != right[name]} == {"os packages"}
        (change,) = capture_changes(monday, friday)
        assert change.key == "os packages.libcudnn9-cuda-12"

    def test_where_they_are_not_collected_the_report_says_so(self) -> None:
        bare = Platform({}, gpu.Gpus("", "", (), ""), os_packages=None)
        assert codes(platform.contradictions(bare, None)) == {"TL980"}
