"""Chapter 08: how its exercises are tried and judged (``trials``), and its ``pictures``.

A function ``run_…`` is called by a locked function of the notebook with the learner's answer and
returns plain values; a function ``check_…`` is given that locked function and compares what it
returns with what is right.
"""
