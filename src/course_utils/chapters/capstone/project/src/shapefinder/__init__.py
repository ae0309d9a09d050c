"""Finds circles, squares and triangles: class, box and count."""

SHAPES = ("circle", "square", "triangle")
