"""The chapters of the course, by part."""

# The whole course by parts, with working titles for the chapters that are not written yet. The
# names are fixed: marks and links hang on them.
COURSE = {
    "": {"00_start_here": "Start here"},
    "Tensors": {
        "01_tensors": "Tensors",
        "02_storage_and_strides": "Storage and strides",
        "03_tensor_algebra": "Tensor algebra",
        "04_numerics": "Numerics",
    },
    "Gradients": {
        "05_autograd": "Autograd",
        "06_custom_gradients": "Custom gradients",
        "07_hooks": "Hooks",
    },
    "Networks": {
        "08_modules": "Modules, functional and not",
        "09_layers": "Layers by hand",
        "10_losses": "Losses",
        "11_optimizers": "Optimizers and schedules",
    },
    "Training": {
        "12_data_pipelines": "Data pipelines",
        "13_training": "Training",
        "14_visualization": "Visualization",
        "15_debugging": "Debugging",
    },
    "Speed and scale": {
        "16_performance": "Performance",
        "17_distributed": "Distributed training",
        "18_sharding": "Sharding",
    },
    "Out of the notebook": {
        "19_deployment": "Deployment",
        "20_internals": "Internals",
        "21_capstone": "Capstone",
    },
}


def part_of(chapter: str) -> str:
    """The part that a chapter belongs to; empty where there is none."""
    return next((part for part, names in COURSE.items() if chapter in names), "")
