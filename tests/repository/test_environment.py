"""The ways in agree: pyproject.toml, requirements.lock and environment.yml; and a cheap import."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from rattler import MatchSpec

from support.answers import ROOT
from support.package import PACKAGE

# The packages that conda-forge calls by another name than PyPI does.
CONDA_NAMES = {
    "torch": "pytorch",
    "huggingface-hub": "huggingface_hub",
    "lmdb": "python-lmdb",
    "jupyter-client": "jupyter_client",
    "jupyter-core": "jupyter_core",
    "jupyter-server": "jupyter_server",
    "jupyterlab-server": "jupyterlab_server",
}

# What pip adds to a conda environment: pure Python, and nothing that it asks for in turn.
BY_PIP = {"fsrs"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
# What only the site or a class server needs, held to the versions of the other.
EXTRA_LOCKS = {extra: f"requirements-{extra}.lock" for extra in ("site", "hub")}
LOCKS = {
    "requirements.lock": LOCK,
    **{name: (ROOT / name).read_text(encoding="utf-8") for name in EXTRA_LOCKS.values()},
}
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))

DEPENDENCIES = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {
    extra: [Requirement(text) for text in needs]
    for extra, needs in PROJECT["optional-dependencies"].items()
}
NEEDS = [
    *(("requirements.lock", need) for need in (*DEPENDENCIES, *EXTRAS["test"])),
    *((lock, need) for extra, lock in EXTRA_LOCKS.items() for need in EXTRAS[extra]),
]


def conda_lines():
    """The lines of environment.yml by package name, the pip section left aside."""
    lines = [line for line in ENVIRONMENT["dependencies"] if isinstance(line, str)]
    return {MatchSpec(line).name.normalized: line for line in lines}


def bounds(text):
    """Version bounds as a set, whatever their order: '>=6.4,<6.6' as {'>=6.4', '<6.6'}."""
    return set(str(text).replace(" ", "").split(",")) - {"", "None"}


def wanted_conda_bounds():
    wanted = {
        CONDA_NAMES.get(need.name, canonicalize_name(need.name)): str(need.specifier)
        for need in DEPENDENCIES
        if need.name not in BY_PIP
    }
    return {**wanted, "python": PROJECT["requires-python"]}


@pytest.mark.parametrize(("name", "versions"), wanted_conda_bounds().items())
def test_environment_yml_has_the_bounds_of_pyproject(name, versions):
    line = conda_lines().get(name)
    assert line, f"environment.yml: add the line '- {name} {versions}' (pyproject.toml has it)"
    assert bounds(MatchSpec(line).version) == bounds(versions), (
        f"environment.yml: change the line '- {line}' to '- {name} {versions}' as in pyproject.toml"
    )


def test_environment_yml_has_nothing_more():
    for name, line in conda_lines().items():
        assert name in {*wanted_conda_bounds(), "pip"}, (
            f"environment.yml: remove the line '- {line}', or add {name} to pyproject.toml"
        )


def test_environment_yml_takes_everything_from_conda_forge_and_the_course_from_here():
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]
    assert ENVIRONMENT["dependencies"][-1] == {"pip": ["--editable ."]}


def imported_packages():
    """The packages that the course's own code imports, by the name that pip knows them by."""
    found = set()
    for path in PACKAGE:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    known = packages_distributions()
    outside = found - sys.stdlib_module_names - {"course_utils"}
    return {name: {canonicalize_name(one) for one in known[name]} for name in outside}


def test_what_is_imported_is_declared():
    declared = {canonicalize_name(need.name) for need in DEPENDENCIES}
    # torch brings Triton where it has CUDA; elsewhere its cells say that it isn't there.
    declared.add("triton")
    missing = {name for name, packages in imported_packages().items() if not packages & declared}
    assert not missing, f"src/ imports {sorted(missing)}: add their packages to pyproject.toml"


@pytest.mark.parametrize("file", ["pyproject.toml", "environment.yml"])
def test_the_weekly_run_lifts_the_bounds_on_torch_and_nbgrader(file):
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    (command,) = re.findall(r"sed --in-place (.+) pyproject.toml environment.yml", workflow)
    before = (ROOT / file).read_text(encoding="utf-8")
    done = subprocess.run(
        f"sed {command}", shell=True, input=before, capture_output=True, text=True, check=True
    )
    bound = r"(pytorch|\btorch|nbgrader) ?>=[\d.]+,<"
    assert len(re.findall(bound, before)) == 2
    assert not re.findall(bound, done.stdout)
    assert len(done.stdout.splitlines()) == len(before.splitlines())


def pins(lock="requirements.lock"):
    """For each package in a lock, the versions pinned for it (one for each kind of machine)."""
    found = {}
    for line in LOCKS[lock].splitlines():
        if line and not line.lstrip().startswith("#"):
            pin = Requirement(line)
            (specifier,) = pin.specifier
            assert specifier.operator == "==", f"{lock} does not pin {line}"
            found.setdefault(canonicalize_name(pin.name), []).append(specifier.version)
    return found


@pytest.mark.parametrize(("lock", "need"), NEEDS, ids=[need.name for _, need in NEEDS])
def test_the_lock_follows_pyproject(lock, need):
    versions = pins(lock).get(canonicalize_name(need.name), [])
    assert versions, f"{lock} lacks {need.name}; run: make lock"
    for version in versions:
        assert need.specifier.contains(version), (
            f"{lock} has {need.name} {version}, pyproject.toml wants {need}; run: make lock"
        )


@pytest.mark.parametrize("lock", EXTRA_LOCKS.values())
def test_an_extra_changes_no_version_of_the_course(lock):
    course, more = pins(), pins(lock)
    other = {name: more[name] for name in more if name in course and more[name] != course[name]}
    assert not other, f"{lock} has other versions: {other}; run: make lock"


@pytest.mark.parametrize("extra", EXTRA_LOCKS)
def test_learners_do_not_install_what_an_extra_needs(extra):
    both = {canonicalize_name(need.name) for need in EXTRAS[extra]} & set(pins())
    assert not both, f"requirements.lock brings {sorted(both)}, which only {extra} needs"


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_names_no_address_and_no_folder(lock):
    for number, line in enumerate(LOCKS[lock].splitlines(), 1):
        for banned in ("://", "file:", "--", "-e ", " @ ", str(ROOT)):
            assert banned not in line, f"{lock} line {number} holds {banned!r}: {line}"


def test_the_lock_leaves_cuda_to_torch():
    cuda = [name for name in pins() if re.match(r"(nvidia|cuda)-|triton$", name)]
    assert not cuda, (
        f"add {', '.join(cuda)} to no-emit-package in pyproject.toml and run: make lock"
    )


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_lock_has_one_pin_of_each_need_for_each_python(version):
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)
    environment = {"python_full_version": f"{version}.9", "python_version": version}
    lines = [line for line in LOCK.splitlines() if line and not line.lstrip().startswith("#")]
    for need in DEPENDENCIES:
        found = [pin for pin in map(Requirement, lines) if canonicalize_name(pin.name) == need.name]
        fitting = [pin for pin in found if not pin.marker or pin.marker.evaluate(environment)]
        assert len(fitting) == 1, f"Python {version}: {need.name} has the pins {fitting}"


def python(*arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_importing_the_package_is_silent():
    done = python("-W", "error::DeprecationWarning", "-c", "import course_utils")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("heavy", ["torch", "matplotlib", "numpy"])
def test_importing_the_package_imports_nothing_heavy(heavy):
    done = python("-c", f"import course_utils, sys; print({heavy!r} in sys.modules)")
    assert done.stdout.strip() == "False", f"import course_utils imports {heavy}"
