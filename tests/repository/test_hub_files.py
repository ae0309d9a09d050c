"""The class server's files for systemd, Docker and Kubernetes, as far as they can be read."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch

import pytest
import yaml

from support.answers import ROOT, chapters
from support.hub_files import HUB, settings_with, tool

DOCKERFILE = (HUB / "Dockerfile").read_text(encoding="utf-8")
KUBERNETES = yaml.safe_load((HUB / "kubernetes.yaml").read_text(encoding="utf-8"))


def test_hadolint_has_nothing_to_say_of_the_dockerfile(tmp_path):
    def said(path):
        command = [tool("hadolint"), "--no-color", path]
        return subprocess.run(command, capture_output=True, text=True).stdout

    assert said(HUB / "Dockerfile") == ""
    (tmp_path / "Dockerfile").write_text(DOCKERFILE + "RUN apt-get install curl\n")
    assert "DL3014" in said(tmp_path / "Dockerfile")


def test_what_the_image_copies_is_there_and_holds_no_solution():
    ignored = (HUB / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = [line[1:] for line in ignored if line.startswith("!")]
    assert "*" in ignored
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in let_through), source
    kept = [source for source in copied if (ROOT / source).is_dir()]
    files = [path for source in kept for path in (ROOT / source).rglob("*") if path.is_file()]
    sources = {chapter.source.name for chapter in chapters()}
    assert len(files) > len(sources) > 20
    assert not sources & {path.name for path in files}


def test_the_wheels_stage_has_all_that_the_wheel_holds():
    stage = DOCKERFILE.split("RUN pip wheel")[0]
    copied = [
        source
        for line in re.findall("^COPY (.+)$", stage, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = [*wheel["packages"], *wheel["force-include"], project["project"]["readme"]]
    for path in [*needed, *project["project"]["license-files"], "pyproject.toml"]:
        assert any(path == source or path.startswith(f"{source}/") for source in copied), path


def test_uv_sees_in_the_image_what_packages_are_built_with():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["uv"]["build-constraint-dependencies"]
    stage = DOCKERFILE.split("uv pip install")[0].rpartition("WORKDIR")[2]
    (locks,) = [line for line in stage.splitlines() if "requirements.lock" in line]
    assert "pyproject.toml" in locks.split()


def test_a_pod_fills_its_students_folder(tmp_path):
    command = KUBERNETES["singleuser"]["lifecycleHooks"]["postStart"]["exec"]["command"]
    releases, home = tmp_path / "settings", tmp_path / "home"
    home.mkdir()
    shutil.copytree(ROOT / "notebooks" / "00_start_here", releases / "notebooks" / "00_start_here")
    program = command[-1].replace("/srv/class/settings", str(releases))
    assert program != command[-1]
    done = subprocess.run(
        [sys.executable, *command[1:-1], program],
        env=os.environ | {"HOME": str(home)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (home / "00_start_here" / "00_start_here.ipynb").is_file()


def test_the_values_are_the_class_servers():
    single = KUBERNETES["singleuser"]
    assert f'CMD ["{single["cmd"]}"]' in DOCKERFILE
    assert single["storage"]["homeMountPath"] == re.search(r"COURSE_FOLDER=(\S+)", DOCKERFILE)[1]
    document = (ROOT / "docs" / "class-server.md").read_text(encoding="utf-8")
    for name, value in KUBERNETES["hub"]["config"]["LTI13Authenticator"].items():
        shown = re.search(rf"^c\.LTI13Authenticator\.{name} = (.+)$", document, re.MULTILINE)[1]
        assert (value[0] if isinstance(value, list) else str(value)) in shown, name


def test_systemd_understands_the_limits_of_a_students_server_and_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze on this machine")
    chosen = 'spawner = "systemd"\nmemory = 1.5\ncores = 0.5\nprocesses = 99\nhours = 2\n'
    settings = settings_with(tmp_path, chosen)
    assert settings.JupyterHub.spawner_class == "systemd"
    more = settings.SystemdSpawner.unit_extra_properties
    assert more["TasksMax"] == "99"
    assert more["LimitCPU"] == "7200"
    assert more["MemorySwapMax"] == "0"
    assert str(tmp_path / "course") in more["InaccessiblePaths"]
    # What the spawner makes of its own limits, as it gives it to systemd-run.
    limits = {
        "MemoryMax": settings.Spawner.mem_limit,
        "CPUQuota": f"{int(settings.Spawner.cpu_limit * 100)}%",
    }
    lines = [f"{name}={value}" for name, value in {**more, **limits}.items()]
    unit = (HUB / "course-hub.service").read_text(encoding="utf-8")
    unit = re.sub("ExecStart=.*", "ExecStart=/bin/true", unit)

    def said(text):
        (tmp_path / "trial.service").write_text(text, encoding="utf-8")
        command = ["systemd-analyze", "verify", "--man=no", tmp_path / "trial.service"]
        done = subprocess.run(command, capture_output=True, text=True)
        return [line for line in done.stderr.splitlines() if "trial.service" in line]

    assert said(unit) == []
    whole = unit.replace("[Install]", "\n".join([*lines, "", "[Install]"]))
    assert said(whole) == []
    assert said(whole.replace("TasksMax=99", "TasksMax=many"))


def test_without_systemd_each_process_is_limited(tmp_path):
    settings = settings_with(tmp_path, 'spawner = "local"\nmemory = 0.5\nprocesses = 99\n')
    assert "LocalProcessSpawner" in settings.JupyterHub.spawner_class
    limits = settings.Spawner.cmd[:4]
    assert limits == ["prlimit", f"--data={2**29}", "--nproc=99", "--cpu=14400"]


def test_a_busy_machine_may_take_long_to_start_what_the_hub_needs(tmp_path):
    settings = settings_with(tmp_path, "")
    with_pages = [service for service in settings.JupyterHub.services if "url" in service]
    assert (
        {service["timeout"] for service in with_pages} == {settings.Spawner.http_timeout} == {180}
    )
