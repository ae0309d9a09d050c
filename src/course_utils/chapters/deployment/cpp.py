"""The detector in a C++ program, compiled ahead of time, where there is a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import torch

from course_utils.chapters.deployment.noise import quiet

SWITCH = "COURSE_CPP"
MINUTES = 5

MAIN = """
#include <cstdio>
#include <vector>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

int main(int, char** argv) {  // package, pictures in, scores out, how many
  const int64_t count = std::atoll(argv[4]);
  std::vector<float> numbers(count * 3 * 32 * 32);
  std::FILE* in = std::fopen(argv[2], "rb");
  if (std::fread(numbers.data(), 4, numbers.size(), in) != numbers.size()) return 1;
  std::fclose(in);
  torch::inductor::AOTIModelPackageLoader loader(argv[1]);
  auto x = torch::from_blob(numbers.data(), {count, 3, 32, 32});  // borrows: numbers must outlive x
  auto outputs = loader.run({x});
  auto scores = outputs[0].contiguous();
  std::FILE* out = std::fopen(argv[3], "wb");
  std::fwrite(scores.data_ptr<float>(), 4, scores.numel(), out);
  std::fclose(out);
  return 0;
}
"""

POINTER = """
#include <torch/script.h>
int main() { std::shared_ptr<torch::jit::Module> m = torch::jit::load("model.pt"); }
"""


def missing() -> str:
    """Why the C++ part doesn't run here; empty if it does."""
    if not os.environ.get(SWITCH):
        return f"it takes two minutes; set {SWITCH}=1 before the kernel starts"
    if shutil.which("g++") is None:
        return "there is no C++ compiler (g++) on this machine"
    return ""


def _paths() -> tuple[list[str], list[str]]:
    from torch.utils.cpp_extension import include_paths, library_paths

    headers = [f"-I{path}" for path in include_paths()]
    libraries = [part for path in library_paths() for part in (f"-L{path}", f"-Wl,-rpath,{path}")]
    return headers, libraries


def _compile(source: str, folder: Path, *options: str) -> subprocess.CompletedProcess:
    (folder / "main.cpp").write_text(source)
    command = ["g++", "-std=c++20", "-O0", "-w", "main.cpp", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60 * MINUTES)


def run_in_cpp(program: torch.export.ExportedProgram, pictures: torch.Tensor, folder: Path):
    """Compile an exported detector, then a C++ program that loads it, and run that on pictures.

    Returns:
        The scores (n, 3) that the C++ program wrote.

    Raises:
        RuntimeError: the compiler refused the program.
    """
    import numpy as np

    with quiet():
        package = torch._inductor.aoti_compile_and_package(
            program, package_path=str(folder / "detector_aoti.pt2")
        )
    headers, libraries = _paths()
    libraries += ["-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"]
    done = _compile(MAIN, folder, "-o", "detect", *headers, *libraries)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    pictures.numpy().tofile(folder / "pictures.bin")
    files = [package, "pictures.bin", "scores.bin"]
    subprocess.run(
        ["./detect", *files, str(len(pictures))], cwd=folder, check=True, timeout=60,
        capture_output=True,
    )  # fmt: skip
    return torch.from_numpy(np.fromfile(folder / "scores.bin", dtype=np.float32)).view(-1, 3)


def refuses_shared_ptr(folder: Path) -> bool:
    """Whether the compiler refuses ``shared_ptr<Module> m = load(…)`` against these headers."""
    headers, _ = _paths()
    done = _compile(POINTER, folder, "-fsyntax-only", *headers)
    return done.returncode != 0 and "shared_ptr" in done.stderr
