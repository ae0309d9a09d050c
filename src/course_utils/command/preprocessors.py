"""Steps of nbgrader's with a gap closed, and one of our own.

``nbgrader_config.py`` names them, so every nbgrader command and formgrader use them too.
"""

from __future__ import annotations

import nbformat
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute, NbGraderPreprocessor, OverwriteCells
from nbgrader.utils import is_grade

NOT_RUN = "This check did not run to its end: the kernel died or hung, or a tag skips the cell."


class ExecuteEveryCheck(Execute):
    """nbgrader's ``Execute``, except for what a check's output says about its points.

    nbgrader gives full points to a check without output, which is also what a check looks like
    that never ran: because an answer ended the kernel or would not be interrupted, or because a
    tag told nbclient to skip it. Here a check that did not run to its end scores nothing.

    nbgrader gives nothing to a check that wrote to stderr, and a right answer may warn or log. Here
    what a check wrote to stderr stays in the feedback as ordinary output; errors alone cost points.
    """

    def preprocess(self, nb: NotebookNode, resources: dict, km=None) -> tuple[NotebookNode, dict]:
        self.finished: set[int] = set()
        try:
            super().preprocess(nb, resources, km)
        except (DeadKernelError, CellTimeoutError) as error:
            self.log.warning("The checks that did not run score nothing: %s", error)
        for index, cell in enumerate(nb.cells):
            if not is_grade(cell) or cell.cell_type != "code":
                continue
            if index not in self.finished:
                cell.outputs = [
                    new_output("error", ename="NotRun", evalue=NOT_RUN, traceback=[NOT_RUN])
                ]
            for output in cell.outputs:
                if output.output_type == "stream":
                    output.name = "stdout"
        return nb, self.resources

    def on_cell_executed(self, **kwargs) -> None:
        self.finished.add(kwargs["cell_index"])
        super().on_cell_executed(**kwargs)


class RestoreCells(OverwriteCells):
    """nbgrader's ``OverwriteCells``, except that no change of a cell's marks costs the rest.

    nbgrader brings deleted checks back, and fails where the cell before one was deleted too, where
    a cell was copied, or where somebody changed what a cell is (a check, an exercise). Here every
    deleted cell of the source comes back, a copy counts as an ordinary cell, and what a cell is
    and how many points it gives is what the source says.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        marks = cell.metadata.get("nbgrader", {})
        if "grade_id" in marks:
            sources, points, solutions = self.source_marks()
            name = marks["grade_id"]
            if name in [source.name for source in sources]:
                marks.update(grade=name in points, solution=name in solutions)
                if name in points:
                    marks["points"] = points[name]
        return super().preprocess_cell(cell, resources, index)

    def source_marks(self) -> tuple[list, dict[str, float], set[str]]:
        """The source's marked cells in order, the checks' points, the names of the exercises."""
        notebook = self.gradebook.find_notebook(self.notebook_id, self.assignment_id)
        points = {cell.name: cell.max_score for cell in notebook.grade_cells}
        return notebook.source_cells, points, {cell.name for cell in notebook.solution_cells}

    def add_missing_grade_cells(
        self, nb: NotebookNode, resources: dict
    ) -> tuple[NotebookNode, dict]:
        for cell in nb.cells:
            # What nbgrader leaves of a copy, or of a cell that the source does not have.
            if "grade_id" not in cell.metadata.get("nbgrader", {}):
                cell.metadata.pop("nbgrader", None)
        sources, points, solutions = self.source_marks()
        previous = -1
        for source in sources:
            names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in nb.cells]
            if source.name in names:
                previous = names.index(source.name)
                continue
            cell = self.missing_cell_transform(
                source, points.get(source.name, 0), is_solution=source.name in solutions
            )
            cell = nbformat.from_dict({**cell, "id": source.name})
            cell.metadata.nbgrader["grade"] = source.name in points
            previous += 1
            nb.cells.insert(previous, cell)
        return nb, resources


class LetRunAllGoOn(NbGraderPreprocessor):
    """Tag each check of a release, so that *Run All Cells* shows every unsolved exercise.

    JupyterLab stops at the first cell that fails, unless the cell says that it may.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict, index: int
    ) -> tuple[NotebookNode, dict]:
        if is_grade(cell) and cell.cell_type == "code":
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
        return cell, resources
