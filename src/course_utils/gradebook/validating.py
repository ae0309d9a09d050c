"""nbgrader's Validate, without what a check explains: a learner may press it before answering."""

from __future__ import annotations

from nbformat import NotebookNode
from nbgrader.validator import Validator


class QuietValidator(Validator):
    """Names each check that fails and gives its words.

    nbgrader's own prints the whole check and a traceback through it. There stand the explanations
    for whoever got it wrong, and in the notebook they are folded.
    """

    def _extract_error(self, cell: NotebookNode) -> str:
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if not errors:
            return super()._extract_error(cell)
        return "\n".join(f"{error.ename}: {error.evalue}" for error in errors)

    def validate(self, filename: str) -> dict[str, list[dict[str, str]]]:
        results = super().validate(filename)
        for cell in results.get("failed", []):
            cell["source"] = cell["source"].splitlines()[0].removeprefix("# ")
        return results


def be_quiet() -> None:
    """Let the button in JupyterLab use it; nbgrader has no setting for that."""
    from nbgrader.server_extensions.validate_assignment import handlers

    handlers.Validator = QuietValidator  # ty: ignore[invalid-assignment]
