"""What a notebook of the course imports.

Every name is loaded when it is first used, so that ``import course_utils`` itself costs nothing:
torch is imported with the first checker, matplotlib with the first drawing.
"""

import os
import sys
from importlib import import_module

_HOME = {
    "device": "learner.devices",
    "seed_everything": "learner.devices",
    "seeded": "learner.devices",
    "allow_changes": "learner.changes",
    "forbid_changes": "learner.changes",
    "check_close": "learner.checks",
    "check_copied": "learner.checks",
    "check_equal": "learner.checks",
    "check_layout": "learner.checks",
    "check_predictions": "learner.checks",
    "check_raises": "learner.checks",
    "check_shares_storage": "learner.checks",
    "awkward_model": "learner.awkward",
    "awkward_tensors": "learner.awkward",
    "called_twice": "learner.awkward",
    "forbid_side_effects": "learner.awkward",
    "check_states": "learner.other_states",
    "every_case": "learner.cases",
    "runs_with_the_answer": "learner.cases",
    "send_cells_to_workers": "learner.processes",
    "count_operators": "learner.operators",
    "forbid_copies": "learner.operators",
    "forbid_operators": "learner.operators",
    "passed": "exercises",
    "show_progress": "exercises",
    "gradient_of": "learner.gradients",
    "check_no_loop": "learner.calls",
    "check_rules": "learner.calls",
    "watched": "learner.calls",
    "check_parts": "learner.values",
    "check_value": "learner.values",
    "draw_curves": "learner.plots",
    "draw_lines": "learner.plots",
    "draw_paths": "learner.plots",
    "panels_of": "learner.plots",
    "bytes_of": "learner.byte_counts",
    "saved_bytes": "learner.byte_counts",
    "LaunchError": "learner.launch_reports",
    "LaunchTimeout": "learner.launch_reports",
    "launch": "learner.launching",
    "count_traffic": "learner.ranks",
    "rank_device": "learner.ranks",
    "draw_einsum": "learner.index_diagrams",
    "draw_graph": "learner.graphs",
    "draw_storage": "learner.storage_drawings",
    "show": "learner.drawings",
    "cache_folder": "learner.shapes_data",
    "draw_shapes": "learner.shapes_data",
    "shapes_folder": "learner.shapes_data",
    "tensorboard_server": "learner.servers",
    "visdom_server": "learner.servers",
}

__all__ = list(_HOME)


_watched: list[object] = []


def leave_unwatched(shell: object) -> None:
    """No look at the process after the checks of this shell: for a judge runs no answer."""
    _watched.append(shell)


def _watch_the_notebook() -> None:
    """In a kernel, when the set-up cell first asks for a name: look after each check."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None and shell not in _watched:
        _watched.append(shell)
        import_module(f"{__name__}.learner.as_it_was").watch_notebook(shell)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    if not name.startswith("_"):
        _watch_the_notebook()
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Missing:
    """Asked last for a module or a name of this package: says what to do where there is none.

    A learner's copy that is older than the course imports what was moved since.
    """

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> None:
        if not name.startswith(f"{__name__}."):
            return
        chapter = os.path.basename(os.getcwd())[:2]
        raise ImportError(
            f"there is no {name} in this release: if the name is spelt right, your notebook is of "
            f"an older one. Save it; then in a terminal: course renew "
            f"{chapter if chapter.isdigit() else 'and its number'}",
            name=name,
        )


sys.meta_path.append(_Missing)
