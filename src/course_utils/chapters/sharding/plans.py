"""Exercise 18.8: why a plan is not the right one."""

from __future__ import annotations


def why_not(found, right, job, seconds_per_sample, slips=None) -> str:
    """Words for what a plan breaks, those of a known slip first; empty if no rule explains it."""
    if found is None:
        return ""
    if not isinstance(found, tuple) or len(found) != 2:
        return "a plan is the pair (layout, samples), or None if nothing fits"
    layout, samples = found
    if type(samples) is not int:
        return f"the samples are an `int`, here of type {type(samples).__name__}: int() makes one"
    whole, shard = job["parameters"], -(-job["parameters"] // job["world_size"])
    need = {
        "DDP": 16 * whole,
        "stage 1": 8 * whole + 8 * shard,
        "stage 2": 4 * whole + 12 * shard,
        "stage 3": 16 * shard + 8 * job["largest"],
    }
    if layout not in list(need):
        return f"the layouts are {', '.join(need)}"
    if found == right or found in (slips or {}):
        return (slips or {}).get(found, "")
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
