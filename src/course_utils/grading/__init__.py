"""Grading: students' notebooks run apart, and a process that never runs them judges."""
