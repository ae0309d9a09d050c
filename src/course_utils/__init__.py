"""What a notebook of the course imports.

Every name is loaded when it is first used, so that ``import course_utils`` itself costs nothing:
torch is imported with the first checker, matplotlib with the first drawing.
"""

from importlib import import_module

_HOME = {
    "device": "devices",
    "seed_everything": "devices",
    "allow_changes": "checks",
    "check_close": "checks",
    "check_copied": "checks",
    "check_equal": "checks",
    "check_layout": "checks",
    "check_predictions": "checks",
    "check_raises": "checks",
    "check_shares_storage": "checks",
    "every_case": "checks",
    "forbid_changes": "checks",
    "runs_with_the_answer": "checks",
    "count_operators": "operators",
    "forbid_copies": "operators",
    "forbid_operators": "operators",
    "passed": "exercises",
    "show_progress": "exercises",
    "gradient_of": "gradients",
    "check_no_loop": "layers",
    "check_parts": "layers",
    "check_rules": "layers",
    "check_value": "layers",
    "draw_curves": "layers",
    "dry_run": "layers",
    "refused": "layers",
    "saved_bytes": "layers",
    "seeded": "layers",
    "watched": "layers",
    "LaunchError": "launching",
    "LaunchTimeout": "launching",
    "launch": "launching",
    "count_traffic": "ranks",
    "rank_device": "ranks",
    "draw_einsum": "index_diagrams",
    "draw_graph": "graphs",
    "draw_storage": "drawings",
    "show": "drawings",
    "damaged_folder": "pipelines",
    "measure_pipeline": "pipelines",
    "through_pickle": "pipelines",
    "cache_folder": "shapes_data",
    "draw_shapes": "shapes_data",
    "shapes_folder": "shapes_data",
    "tensorboard_server": "servers",
    "visdom_server": "servers",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
