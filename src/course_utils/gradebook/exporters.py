"""nbconvert's exporters for notebooks that were checked already."""

from __future__ import annotations

from typing import Any, TextIO

import nbformat
from nbconvert.exporters import Exporter, NotebookExporter
from nbformat import NotebookNode


class WithoutChecks(Exporter):
    """An exporter that neither validates nor copies the notebook: its steps work on what is given.

    What students hand in is validated when it is taken in, and outputs when they are made. Doing it
    again at each reading, step and writing takes as long as the steps.
    """

    def from_file(
        self, file_stream: TextIO, resources: dict | None = None, **keywords
    ) -> tuple[Any, dict]:
        notebook = nbformat.v4.reads(file_stream.read())
        return self.from_notebook_node(notebook, resources=resources, **keywords)

    def from_notebook_node(
        self, nb: NotebookNode, resources: dict | None = None, **keywords
    ) -> tuple[Any, dict]:
        nb, resources = self._preprocess(nb, self._init_resources(resources))
        # Where nbconvert's filter for widgets looks.
        self._nb_metadata[""] = nb.metadata
        return nb, resources

    def _preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        for step in self._preprocessors:
            nb, resources = step(nb, resources)
        return nb, resources


class CheckedNotebookExporter(WithoutChecks, NotebookExporter):
    """nbconvert's ``NotebookExporter`` for a notebook that was checked."""

    def from_notebook_node(  # ty: ignore[incompatible-method-override]  as nbconvert's own: text
        self, nb: NotebookNode, resources: dict | None = None, **keywords
    ) -> tuple[str, dict]:
        notebook, resources = WithoutChecks.from_notebook_node(self, nb, resources, **keywords)
        return nbformat.v4.writes(notebook) + "\n", resources
