"""``course doctor`` names what is wrong and what to do about it."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from rich.console import Console

from course_utils.command import doctor

GIB = 2**30


def test_this_machine_is_examined_line_by_line(tmp_path):
    """The whole command, outside of any course, servers really started."""
    temporary, elsewhere = tmp_path / "temporary", tmp_path / "elsewhere"
    temporary.mkdir()
    elsewhere.mkdir()
    finished = subprocess.run(
        [Path(sys.executable).with_name("course"), "doctor"],
        cwd=elsewhere,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = finished.stdout.splitlines()
    assert [line[7:].split("  ")[0].strip() for line in lines] == list(doctor.CHECKS)
    assert all(line.startswith(("ok   ", "to do")) for line in lines)
    to_do = [line for line in lines if line.startswith("to do")]
    assert finished.returncode == (1 if to_do else 0), finished.stdout
    assert any("no course folder" in line for line in lines)
    assert list(elsewhere.iterdir()) == []
    assert list(temporary.glob("course-doctor-*")) == []
    # TensorBoard notes there which of its servers are running.
    assert list(temporary.glob(".tensorboard-info/*")) == []
    # Both servers are told a folder in there, so their command lines would show it.
    commands = [
        " ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"])
    ]
    assert not any(str(temporary) in command for command in commands)


@pytest.mark.parametrize("name", ["visdom", "TensorBoard"])
def test_the_servers_answer(name):
    ok, text = doctor.CHECKS[name]()
    assert ok, text
    assert text.startswith("answers after")


def test_one_finding_that_is_not_ok_decides_the_outcome(monkeypatch):
    checks = {"fine": lambda: (True, "is there"), "bad": lambda: (False, "do this: that")}
    monkeypatch.setattr(doctor, "CHECKS", checks)
    console = Console(record=True, width=100)
    assert doctor.examine(console) is False
    assert console.export_text().splitlines() == [
        "ok     fine  is there",
        "to do  bad   do this: that",
    ]
    monkeypatch.setattr(doctor, "CHECKS", {"fine": checks["fine"]})
    assert doctor.examine(console) is True


def test_a_check_that_breaks_is_a_finding_too(monkeypatch):
    def broken():
        raise ImportError("no module named nowhere")

    monkeypatch.setattr(doctor, "CHECKS", {"broken": broken})
    console = Console(record=True, width=200)
    assert doctor.examine(console) is False
    assert "ImportError: no module named nowhere: install the course again" in console.export_text()


def test_little_memory(monkeypatch):
    state = SimpleNamespace(available=0.5 * GIB, total=4 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: state)
    ok, text = doctor.memory()
    assert not ok
    assert text.startswith("0.5 of 4.0 GiB free: close other programs")


def test_an_old_python(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1, "final", 0))
    ok, text = doctor.python()
    assert not ok
    assert text.startswith("3.9.1 is not ")
    assert "make PYTHON=" in text


def test_torchvision_of_another_build(monkeypatch):
    import torchvision

    def nms(*arguments, **options):
        raise RuntimeError("operator torchvision::nms does not exist\nand more")

    monkeypatch.setattr(torchvision.ops, "nms", nms)
    ok, text = doctor.torch_and_torchvision()
    assert not ok
    assert "operator torchvision::nms does not exist" in text
    assert "install both from the same place" in text
    assert "and more" not in text


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(in_the_way / "runtime"))
    ok, text = doctor.folders()
    assert not ok
    assert text.startswith(f"{in_the_way / 'runtime'} cannot be written")


def test_the_course_is_among_the_folders(monkeypatch, tiny_chapter):
    monkeypatch.chdir(tiny_chapter.root)
    ok, text = doctor.folders()
    assert ok
    assert str(tiny_chapter.root) in text


def test_a_missing_sandbox_is_said(monkeypatch):
    monkeypatch.setattr("course_utils.kernels.sandbox.why_not", lambda: "bubblewrap is missing: do")
    monkeypatch.setattr(sys, "platform", "linux")
    ok, text = doctor.isolation()
    assert not ok
    assert text == "bubblewrap is missing: do; only who grades others' code needs it"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert doctor.isolation()[0], "where none can be had, a learner has nothing to do"


def write_kernel(folder, python):
    place = folder / "kernels" / "python3"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(
        f'{{"argv": ["{python}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"],'
        '"display_name": "Python 3", "language": "python"}'
    )


def test_a_kernel_of_another_environment(monkeypatch, tmp_path):
    write_kernel(tmp_path, "/elsewhere/bin/python")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    ok, text = doctor.kernel()
    assert not ok
    assert text.startswith("python3 starts /elsewhere/bin/python, not the course's Python")
    assert "ipykernel install --sys-prefix" in text


def test_the_kernel_of_this_environment(monkeypatch, tmp_path):
    write_kernel(tmp_path, "python")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert doctor.kernel() == (True, f"python3 starts {sys.executable}")


def test_an_extension_that_is_off(monkeypatch, tmp_path):
    place = tmp_path / "jupyter_server_config.d"
    place.mkdir()
    (place / "off.json").write_text(
        '{"ServerApp": {"jpserver_extensions": {"nbgrader.server_extensions.formgrader": false}}}'
    )
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(tmp_path))
    ok, text = doctor.nbgrader_extensions()
    assert not ok
    assert text.startswith("nbgrader.server_extensions.formgrader is off: jupyter server extension")


def test_a_server_that_ends_at_once():
    command = [sys.executable, "-c", "raise SystemExit('the port is taken')"]
    ok, text = doctor.server_answers(command, doctor.free_port())
    assert not ok
    assert text.startswith("ended at once (the port is taken): install the course again")


def test_a_server_that_never_answers_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "SERVER_SECONDS", 1)
    pid = tmp_path / "pid"
    program = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    ok, text = doctor.server_answers([sys.executable, "-c", program], doctor.free_port())
    assert not ok
    assert text.startswith("did not answer within 1 s (it says nothing)")
    assert not psutil.pid_exists(int(pid.read_text()))
