"""The profiler is stopped for the operators that nobody shall see, and started again."""

from support.hostile import UNTOLD, answer

ARRIVED = ["could not be watched"]
CHAPTER = "02_storage_and_strides"
QUIETLY = """
def quietly(work):
    import torch
    from torch._C._profiler import _ExperimentalConfig
    from torch.autograd import ProfilerConfig, ProfilerState
    from torch.utils._python_dispatch import _disable_current_modes
    torch.autograd._disable_profiler_legacy()
    with _disable_current_modes():
        result = work()
    nothing = [False] * 5
    config = ProfilerConfig(ProfilerState.CPU, *nothing, _ExperimentalConfig())
    torch.autograd._enable_profiler_legacy(config)
    return result
"""


def hand_in(chapter, notebook, folder):
    for exercise, source in UNTOLD.items():
        answer(notebook, exercise, QUIETLY + source)
