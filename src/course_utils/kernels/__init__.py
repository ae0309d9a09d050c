"""Kernels that start warm, alone or in a sandbox."""
