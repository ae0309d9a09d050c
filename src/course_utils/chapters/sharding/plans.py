"""Exercise 18.8: why a plan is not the right one."""

from __future__ import annotations


def why_not(found, right, job, seconds_per_sample) -> str:
    """Words for what a plan breaks; empty where none of the rules explains it."""
    if found is None or found == right:
        return ""
    if not isinstance(found, tuple) or len(found) != 2:
        return "a plan is the pair (layout, samples), or None if nothing fits"
    layout, samples = found
    whole, shard = job["parameters"], -(-job["parameters"] // job["world_size"])
    need = {
        "DDP": 16 * whole,
        "stage 1": 8 * whole + 8 * shard,
        "stage 2": 4 * whole + 12 * shard,
        "stage 3": 16 * shard + 8 * job["largest"],
    }
    if layout not in need:
        return f"the layouts are {', '.join(need)}"
    if isinstance(samples, float) and not samples.is_integer():
        return "a rank takes whole samples"
    if samples < 1:
        return "no samples are no plan"
    if samples > job["batch"]:
        return "a rank takes at most `batch` samples"
    if need[layout] + samples * job["sample"] > job["budget"]:
        return "it does not fit into the budget"
    if layout == right[0]:
        full = need[layout] + right[1] * job["sample"] == job["budget"]
        once = samples == right[1] - 1
        return "more samples fit" + ("; exactly full fits" if full and once else "")
    if seconds_per_sample(*found, job) > seconds_per_sample(*right, job):
        return "another layout takes fewer seconds a sample"
    return "of equals, take the upper one"
