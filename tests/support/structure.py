"""The rules that every chapter keeps, each a function from a notebook to a list of complaints.

A complaint is one line that names the cell. A rule reads the solution notebook, built and executed
or not: rules about outputs find nothing in one that was not executed.
"""

from __future__ import annotations

import ast
import base64
import io
import math
import re
import statistics
import symtable
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from nbformat import NotebookNode
from PIL import Image

from course_utils.authoring.source import CHECK_LINES
from course_utils.cells import HEADING, exercise_of
from course_utils.gradebook.grader import load_settings
from course_utils.learner.drawings import SHARPNESS
from support.answers import ROOT, grader_of
from support.curriculum import meanings

KNOWN = {kind: list(meanings(kind)) for kind in ("topics", "errata")}

# What the build lets every check say.
PASSED = re.compile(r"✓ .*: right, \d+ points?")
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION$.*?^ *### END SOLUTION$", re.MULTILINE | re.DOTALL)
STUB = rf"\1{load_settings(ROOT).ClearSolutions.code_stub['python']}"
DETAILS = re.compile(r"<details>\s*<summary>.*?</details>", re.DOTALL)

# A locked cell that an exercise asks to be read.
TO_BE_READ = "to-be-read"
# A cell that prints False and means it.
SHOWS_FALSE = "shows-false"
TAGS = {
    *("nbval-ignore-output", "raises-exception", "shows-deprecated", "shows-warning"),
    *(SHOWS_FALSE, TO_BE_READ),
}
# A line that is nothing else, or begins so, or what follows a label.
SAYS_FALSE = re.compile(r"(?:^|: *)False\b", re.MULTILINE)
SETUP_LINES, MEDIAN_LINES, LONG_LINES = 5, 6, 25
MOST_EXERCISES, MOST_MINUTES, MOST_CORE_MINUTES = 12, 240, 150
MOST_GIVEN_LINES, MOST_CALL_OUTS = 10, 8
HIDDEN = re.compile(r"^ *### BEGIN HIDDEN TESTS$.*?^ *### END HIDDEN TESTS$", re.M | re.DOTALL)
KIND = re.compile(r"torch\.(float16|bfloat16|float64|int32|int64|uint8|bool|complex64)\b").findall

# What a notebook may not import: the instructor's door, and what reaches for the network.
FORBIDDEN_MODULES = (
    "course_utils.authoring", "course_utils.command", "course_utils.copies",
    "course_utils.gradebook", "course_utils.grading", "course_utils.kernels",
    "ftplib", "gdown", "http.client", "httpx", "requests", "urllib", "wget",
)  # fmt: skip
FORBIDDEN_CALLS = ("os.system", "os.popen", "time.sleep", "torch.hub.")
CLOCKS = ("time.time", "time.perf_counter", "time.monotonic", "datetime.")
ALIASES = {
    "torch": "torch",
    "torch.nn": "nn",
    "torch.nn.functional": "F",
    "torch.distributed": "dist",
    "torch.multiprocessing": "mp",
    "numpy": "np",
    "matplotlib.pyplot": "plt",
}
DEPRECATED_CALLS = (
    "torch.Tensor", "torch.FloatTensor", "torch.DoubleTensor", "torch.LongTensor",
    "torch.IntTensor", "torch.ByteTensor", "torch.BoolTensor", "torch.HalfTensor",
    "torch.cuda.FloatTensor", "torch.range", "torch.ger", "torch.qr", "torch.norm",
    "torch.chain_matmul", "torch.set_default_tensor_type", "torch.autograd.Variable", "Variable",
)  # fmt: skip
DEPRECATED_PREFIXES = ("torch.cuda.amp.", "torch.cpu.amp.", "torch.jit.", "torch.ao.quantization.")

ABSOLUTE_PATH = re.compile(
    "|".join(
        [
            r"(?<![\w.:/-])/(?:home|root|Users|tmp(?!/ipykernel_)|opt|usr|var|mnt)/",
            r"\b[A-Z]:\\",
            *(re.escape(path) for path in (str(ROOT), sys.prefix, str(Path.home()) + "/")),
        ]
    )
)


def name_of(notebook: NotebookNode, cell: NotebookNode) -> str:
    """What a complaint calls a cell: its id and its first line."""
    first = cell.source.strip().splitlines()[0][:50] if cell.source.strip() else "empty"
    return f"cell {cell.get('id', notebook.cells.index(cell))} ({first})"


def tags_of(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def exercise_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if grader_of(cell).get("solution")]


def check_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if grader_of(cell).get("grade")]


def stub_of(source: str) -> str:
    """An exercise cell as learners get it."""
    return SOLUTION.sub(STUB, source)


def tree_of(cell: NotebookNode) -> ast.Module:
    """A code cell's syntax tree, without IPython's own lines; an error in it names the cell."""
    if cell.source.startswith("%%"):
        return ast.Module(body=[], type_ignores=[])
    lines = [
        "" if line.lstrip().startswith(("%", "!")) else line for line in cell.source.split("\n")
    ]
    return ast.parse("\n".join(lines), filename=f"cell {cell.get('id')}")


def dotted(node: ast.AST) -> str:
    """``torch.nn.functional`` for the syntax of it; what is no name becomes ``?``."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def calls_of(cell: NotebookNode) -> Iterator[str]:
    """The dotted names of what a cell calls."""
    for node in ast.walk(tree_of(cell)):
        if isinstance(node, ast.Call):
            yield dotted(node.func)


def shown_text(cell: NotebookNode) -> str:
    """All the text that a cell's outputs hold."""
    texts = []
    for output in cell.get("outputs", []):
        texts += [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", [])]
        data = output.get("data", {})
        texts += [str(value) for kind, value in data.items() if not kind.startswith("image/")]
    return "\n".join("".join(text) for text in texts)


def header(notebook: NotebookNode, chapter: str) -> list[str]:
    """The header gives a title and minutes; the first cell alone has a first-level title."""
    course = notebook.metadata.get("course", {})
    complaints = []
    if not isinstance(course.get("title"), str) or not course["title"].strip():
        complaints.append("the header has no course: title:")
    minutes = course.get("minutes")
    if not isinstance(minutes, int) or minutes <= 0:
        complaints.append("the header has no course: minutes: (a whole number above 0)")
    core = course.get("core")
    if core is not None and not (isinstance(core, int) and 0 < core <= (minutes or 0)):
        complaints.append("the header's course: core: is no number of minutes up to the whole")
    titles = [
        name_of(notebook, cell)
        for cell in notebook.cells
        if cell.cell_type == "markdown" and re.search(r"^# \S", without_fences(cell.source), re.M)
    ]
    if titles != [name_of(notebook, notebook.cells[0])]:
        complaints.append(f"'# ' opens the first cell and no other; found in: {titles}")
    return complaints


def without_fences(markdown: str) -> str:
    return re.sub(r"^```.*?^```", "", markdown, flags=re.MULTILINE | re.DOTALL)


def setup_cell(notebook: NotebookNode, chapter: str) -> list[str]:
    """The first code cell is the locked set-up cell, of at most five lines.

    A line that imports from the chapter's own package, ``course_utils.chapters``, is not counted.
    """
    first = code_cells(notebook)[0]
    complaints = []
    if grader_of(first).get("grade_id") != "setup" or not grader_of(first).get("locked"):
        complaints.append(f"{name_of(notebook, first)}: the first code cell is not a locked setup")
    own = first.source.count("from course_utils.chapters")
    lines = length_of(first) - own
    if lines > SETUP_LINES:
        complaints.append(
            f"{name_of(notebook, first)}: {lines} lines, at most {SETUP_LINES}; an import that is "
            "spread over lines fits as two of one line each"
        )
    return complaints


def kinds(notebook: NotebookNode, chapter: str) -> list[str]:
    """A cell known to nbgrader is one of three: locked, an exercise, or a check; ids are unique."""
    complaints, seen = [], set()
    for cell in notebook.cells:
        grader = grader_of(cell)
        if not grader:
            continue
        where = name_of(notebook, cell)
        if grader["grade_id"] in seen:
            complaints.append(f"{where}: its grade id is used twice")
        seen.add(grader["grade_id"])
        if re.fullmatch(r"cell-\d+", grader["grade_id"]):
            complaints.append(f"{where}: the ids cell-… are kept for ordinary cells")
        if cell.cell_type != "code":
            complaints.append(f"{where}: only code cells are graded or locked")
        roles = (grader["solution"], grader["grade"], grader["locked"] and not grader["grade"])
        if sum(map(bool, roles)) != 1:
            complaints.append(f"{where}: neither locked nor an exercise nor a check, or several")
    return complaints


def checks(notebook: NotebookNode, chapter: str) -> list[str]:
    """Each exercise is followed by its checks, before the next exercise; each has whole points."""
    complaints, exercise, checked = [], None, set()
    for cell in notebook.cells:
        grader = grader_of(cell)
        if grader.get("solution"):
            exercise = grader["grade_id"]
        if not grader.get("grade"):
            continue
        where = name_of(notebook, cell)
        if exercise_of(grader["grade_id"]) != exercise:
            complaints.append(
                f"{where}: its grade id is neither {exercise}-check nor {exercise}-check-2, …, and "
                f"{exercise} is the exercise above it"
            )
        checked.add(exercise)
        points = grader.get("points")
        if not isinstance(points, int) or points < 1:
            complaints.append(f"{where}: its points are {points!r}, not a whole number above 0")
    for cell in exercise_cells(notebook):
        if grader_of(cell)["grade_id"] not in checked:
            complaints.append(f"{name_of(notebook, cell)}: no check follows")
    return complaints


def headings(notebook: NotebookNode, chapter: str) -> list[str]:
    """Each exercise stands under a heading with its number, title, rating, minutes and points."""
    complaints, minutes = [], 0
    for number, cell in enumerate(exercise_cells(notebook), start=1):
        where = name_of(notebook, cell)
        first, *_ = *cells_given(notebook, cell), cell
        above = notebook.cells[notebook.cells.index(first) - 1]
        found = list(HEADING.finditer(above.source)) if above.cell_type == "markdown" else []
        if len(found) != 1:
            tried = re.findall(r"^#+ *Exercise.*$", above.source, re.MULTILINE)
            complaints.append(
                f"{where}: directly above it stands no single heading "
                "'### Exercise N.M — Title ★ · N min · N points', "
                "' · core' behind it where later chapters lean on it"
                + "".join(f"; it is not {line!r}" for line in tried[:1] if not found)
            )
            continue
        heading = found[0]
        minutes += int(heading["minutes"])
        if heading["number"] != f"{int(chapter[:2])}.{number}":
            complaints.append(f"{where}: its heading should say {int(chapter[:2])}.{number}")
        mine = [
            grader_of(check).get("points", 0)
            for check in check_cells(notebook)
            if exercise_of(grader_of(check)["grade_id"]) == grader_of(cell)["grade_id"]
        ]
        if int(heading["points"]) != sum(mine):
            complaints.append(
                f"{where}: its heading says {heading['points']} points, its checks {sum(mine)}"
            )
        if (heading["points"] == "1") != (heading["unit"] == "point"):
            complaints.append(f"{where}: 1 point, otherwise points")
    all_headings = sum(
        len(re.findall(r"^#+ Exercise", cell.source, re.MULTILINE))
        for cell in notebook.cells
        if cell.cell_type == "markdown"
    )
    if all_headings != len(exercise_cells(notebook)):
        complaints.append(f"{all_headings} headings for {len(exercise_cells(notebook))} exercises")
    whole = notebook.metadata.get("course", {}).get("minutes", 0)
    if isinstance(whole, int) and minutes > whole:
        complaints.append(f"the exercises alone take {minutes} minutes, the header says {whole}")
    return complaints


def stubs(notebook: NotebookNode, chapter: str) -> list[str]:
    """Each exercise holds a solution; its stub is a typed function, or a dict of blanks."""
    complaints = []
    for cell in exercise_cells(notebook):
        where = name_of(notebook, cell)
        if not SOLUTION.search(cell.source) or "SOLUTION" in stub_of(cell.source):
            complaints.append(f"{where}: expected ### BEGIN SOLUTION … ### END SOLUTION")
            continue
        try:
            tree = ast.parse(stub_of(cell.source))
        except SyntaxError as error:
            complaints.append(f"{where}: its stub is not valid Python ({error.msg})")
            continue
        wanted = grader_of(cell)["grade_id"].replace("-", "_")
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        if not functions and _blanks(tree):
            continue
        function = next((node for node in functions if node.name == wanted), None)
        if function is None:
            complaints.append(f"{where}: its stub holds neither def {wanted} nor a dict of blanks")
            continue
        arguments = function.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        bare = [argument.arg for argument in named if argument.annotation is None]
        if bare or function.returns is None:
            what = ", ".join([*bare, *(["its result"] if function.returns is None else [])])
            complaints.append(f"{where}: no type is given for {what}")
        if not ast.get_docstring(function):
            complaints.append(f"{where}: {wanted} has no docstring")
    return complaints


def _blanks(tree: ast.Module) -> bool:
    """Whether a dict of nothing but ``None`` is assigned."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Dict)
        and node.value.values
        and all(
            isinstance(value, ast.Constant) and value.value is None for value in node.value.values
        )
        for node in tree.body
    )


def hints(notebook: NotebookNode, chapter: str) -> list[str]:
    """Each exercise has hints that fold, none of which prints the solution."""
    complaints = []
    for cell in exercise_cells(notebook):
        where = name_of(notebook, cell)
        folded = DETAILS.findall(_markdown_around(notebook, cell))
        if not folded:
            complaints.append(f"{where}: it has no hint that folds (<details><summary>…)")
        for region in SOLUTION.finditer(cell.source):
            solution = [line.strip() for line in region[0].splitlines()[1:-1] if line.strip()]
            if any(all(line in hint for line in solution) for hint in folded):
                complaints.append(f"{where}: a hint prints the solution")
    return complaints


def _markdown_around(notebook: NotebookNode, exercise: NotebookNode) -> str:
    """The markdown from an exercise's heading to the next exercise's heading."""
    position = notebook.cells.index(exercise)
    while position > 0 and notebook.cells[position].cell_type != "markdown":
        position -= 1
    text = [notebook.cells[position].source.rpartition("### Exercise")[2]]
    for cell in notebook.cells[position + 1 :]:
        if cell.cell_type == "markdown":
            before, heading, _ = cell.source.partition("### Exercise")
            text.append(before)
            if heading:
                break
    return "\n".join(text)


def check_ends(notebook: NotebookNode, chapter: str) -> list[str]:
    """A check cell shows nothing but that all is right, and does not read the clock."""
    complaints = []
    for cell in check_cells(notebook):
        where = name_of(notebook, cell)
        shown = shown_text(cell).strip()
        if cell.get("outputs") and not PASSED.fullmatch(shown):
            complaints.append(f"{where}: it shows something when all is right")
        for call in calls_of(cell):
            if call.startswith(CLOCKS):
                complaints.append(f"{where}: it reads the clock ({call})")
    return complaints


def words(notebook: NotebookNode, chapter: str) -> list[str]:
    """What a check asserts it asserts with words, for the learner who fails it."""
    return [
        f"{name_of(notebook, cell)}: no words follow {ast.unparse(node)!r}; say what is wrong, "
        "or use a checker of course_utils"
        for cell in check_cells(notebook)
        for node in ast.walk(tree_of(cell))
        if isinstance(node, ast.Assert) and node.msg is None
    ]


def names(notebook: NotebookNode, chapter: str) -> list[str]:
    """A check reads what it makes, its exercise's names, and names that locked cells alone make."""
    complaints = []
    # Where a name is made. An import may stand in several cells: it is the same everywhere.
    locked: dict[str, str] = {}
    others: dict[str, tuple[str, str]] = {}
    for cell in code_cells(notebook):
        grader = grader_of(cell)
        where = name_of(notebook, cell)
        made, imported, read = outer_names(cell)
        if not grader.get("grade"):
            if grader.get("locked"):
                locked.update(dict.fromkeys(made | imported, where))
                for name in made | imported:
                    others.pop(name, None)
            else:
                maker = (grader.get("grade_id", ""), where)
                others.update(dict.fromkeys(made, maker))
            continue
        for name in sorted(read & others.keys()):
            maker, place = others[name]
            if maker == exercise_of(grader["grade_id"]):
                continue
            mend = (
                f"and so does the locked {locked[name]}: rename one"
                if name in locked
                else "and is not there when it is graded: lock that cell, or make the name here"
            )
            complaints.append(f"{where}: it reads {name}, which {place} makes, {mend}")
    return complaints


def outer_names(cell: NotebookNode) -> tuple[set[str], set[str], set[str]]:
    """The names that a cell binds and those it imports; those it reads and does not bind."""
    top = symtable.symtable(ast.unparse(tree_of(cell)), str(cell.get("id")), "exec")
    bound = {one.get_name() for one in top.get_symbols() if one.is_assigned()}
    imported = {one.get_name() for one in top.get_symbols() if one.is_imported()}
    read, tables = set(), [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        read |= {
            one.get_name()
            for one in table.get_symbols()
            if one.is_referenced() and (table is top or one.is_global())
        }
    return bound - imported, imported, read - bound - imported


def curriculum(notebook: NotebookNode, chapter: str) -> list[str]:
    """The topics, errata and tags that cells carry are known, and lists."""
    complaints = []
    for cell in notebook.cells:
        for kind, known in (*KNOWN.items(), ("tags", TAGS)):
            named = cell.metadata.get(kind, [])
            if not isinstance(named, list):
                complaints.append(f"{name_of(notebook, cell)}: {kind} is not a list")
                continue
            for name in named:
                if name not in known:
                    complaints.append(f"{name_of(notebook, cell)}: no {kind} named {name!r}")
    return complaints


def length_of(cell: NotebookNode) -> int:
    """How many lines of a cell are not blank, without those that the build adds to a check."""
    added = CHECK_LINES if grader_of(cell).get("grade") else 0
    return sum(bool(line.strip()) for line in cell.source.splitlines()) - added


def lengths(notebook: NotebookNode, chapter: str) -> list[str]:
    """Half of the code cells have at most 6 lines, 95 of 100 at most 25, solutions included."""
    counted = sorted((length_of(cell), name_of(notebook, cell)) for cell in code_cells(notebook))
    complaints = []
    median = statistics.median(lines for lines, _ in counted)
    if median > MEDIAN_LINES:
        complaints.append(f"the median code cell has {median:g} lines, at most {MEDIAN_LINES}")
    long = [(lines, name) for lines, name in counted if lines > LONG_LINES]
    allowed = len(counted) // 20
    if len(long) > allowed:
        named = "; ".join(f"{name}: {lines}" for lines, name in reversed(long))
        complaints.append(
            f"{len(long)} of {len(counted)} code cells exceed {LONG_LINES} lines, and of so many "
            f"{allowed or 'none'} may: {named}"
        )
    return complaints


def imports(notebook: NotebookNode, chapter: str) -> list[str]:
    """Nothing reaches for the network, a shell or the instructor's door; names are the usual."""
    complaints = []
    for cell in code_cells(notebook):
        where = name_of(notebook, cell)
        for node in ast.walk(tree_of(cell)):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{n.name}" for n in node.names)]
                if any(name.name == "*" for name in node.names):
                    complaints.append(f"{where}: imports * from {node.module}")
                pairs = [(f"{node.module}.{n.name}", n.asname) for n in node.names]
            elif isinstance(node, ast.Import):
                names = [name.name for name in node.names]
                pairs = [(name.name, name.asname) for name in node.names]
            else:
                continue
            for module in FORBIDDEN_MODULES:
                if any(name == module or name.startswith(module + ".") for name in names):
                    complaints.append(f"{where}: imports {module}")
            for name, alias in pairs:
                usual = ALIASES.get(name)
                if alias and (alias != usual if usual else len(alias) == 1):
                    complaints.append(f"{where}: imports {name} as {alias}")
        for call in calls_of(cell):
            if call == "sleep" or call.startswith(FORBIDDEN_CALLS):
                complaints.append(f"{where}: calls {call}")
        if re.search(r"^\s*[!%].*\b(pip|conda|wget|curl)\b", cell.source, re.MULTILINE):
            complaints.append(f"{where}: installs or downloads")
    return complaints


def paths(notebook: NotebookNode, chapter: str) -> list[str]:
    """No path of one machine, in a source or in an output."""
    complaints = []
    for cell in notebook.cells:
        for part, text in (("source", cell.source), ("output", shown_text(cell))):
            found = ABSOLUTE_PATH.search(text)
            if found:
                line = text[: found.end()].splitlines()[-1].strip()[-60:]
                complaints.append(f"{name_of(notebook, cell)}: a path in its {part}: {line}")
    return complaints


def deprecated(notebook: NotebookNode, chapter: str) -> list[str]:
    """Nothing deprecated is called or warned of, unless the cell is there to show it."""
    complaints = []
    for cell in code_cells(notebook):
        where = name_of(notebook, cell)
        if "shows-deprecated" not in tags_of(cell):
            complaints += [f"{where}: {name} is deprecated" for name in _deprecated_names(cell)]
        if not {"shows-deprecated", "shows-warning"} & set(tags_of(cell)):
            found = re.search(r"\b(Pending)?(Deprecation|Future)Warning\b", shown_text(cell))
            if found:
                complaints.append(f"{where}: its output holds a {found[0]}")
    return complaints


def _deprecated_names(cell: NotebookNode) -> Iterator[str]:
    for node in ast.walk(tree_of(cell)):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in DEPRECATED_CALLS:
                yield f"{name}(…)"
            if isinstance(node.func, ast.Attribute) and node.func.attr == "storage":
                yield ".storage()"
        if isinstance(node, ast.Attribute):
            if node.attr == "data" and not dotted(node).startswith(("torch.utils", "?.utils")):
                yield ".data"
            if dotted(node).startswith(DEPRECATED_PREFIXES):
                yield dotted(node)


def pictures(notebook: NotebookNode, chapter: str) -> list[str]:
    """Pictures are drawn by code, never pasted, have an alt text and twice the dots they take."""
    complaints = []
    for cell in notebook.cells:
        where = name_of(notebook, cell)
        if cell.cell_type == "markdown":
            pasted = re.search(r"!\[[^\]]*\]\(|<img\b", without_fences(cell.source))
            if pasted or cell.get("attachments"):
                complaints.append(f"{where}: a pasted picture; draw it by code")
        for output in cell.get("outputs", []):
            for kind, data in output.get("data", {}).items():
                if not kind.startswith("image/"):
                    continue
                about = output.get("metadata", {}).get(kind, {})
                if not about.get("alt", "").strip():
                    complaints.append(f"{where}: a picture without alt text")
                elif not is_sharp(data, about):
                    complaints.append(
                        f"{where}: a picture of an older make; course build {chapter}"
                    )
    return complaints


def is_sharp(data: str, about: Mapping) -> bool:
    """Whether an image in base64 has as many dots for its size on the page as today's have."""
    dots = Image.open(io.BytesIO(base64.b64decode(data))).width
    return about.get("width") == math.ceil(dots / SHARPNESS)


def errors(notebook: NotebookNode, chapter: str) -> list[str]:
    """A cell fails if it is tagged so, and only then; only a shown warning goes to stderr."""
    complaints = []
    executed = any(cell.get("execution_count") for cell in code_cells(notebook))
    for cell in code_cells(notebook):
        where = name_of(notebook, cell)
        failed = any(output.output_type == "error" for output in cell.outputs)
        meant = "raises-exception" in tags_of(cell)
        if failed and not meant:
            complaints.append(f"{where}: it fails and has no tag raises-exception")
        if executed and meant and not failed:
            complaints.append(f"{where}: it has the tag raises-exception and does not fail")
        loud = any(output.get("name") == "stderr" for output in cell.outputs)
        if loud and not {"shows-warning", "shows-deprecated"} & set(tags_of(cell)):
            complaints.append(f"{where}: it writes to stderr and has no tag shows-warning")
    return complaints


def falses(notebook: NotebookNode, chapter: str) -> list[str]:
    """A cell prints False only where it is tagged so: a sentence that affirms would be wrong."""
    complaints = []
    for cell in code_cells(notebook):
        says = SAYS_FALSE.search(shown_text(cell)) is not None and not grader_of(cell).get("grade")
        meant = SHOWS_FALSE in tags_of(cell)
        if says and not meant:
            complaints.append(
                f"{name_of(notebook, cell)}: it prints False; mend the sentence or the cell, or "
                f"tag it {SHOWS_FALSE} if it is meant"
            )
        varies = "nbval-ignore-output" in tags_of(cell)
        if meant and cell.get("execution_count") and not says and not varies:
            complaints.append(f"{name_of(notebook, cell)}: tagged {SHOWS_FALSE}, and prints none")
    return complaints


# The form that a chapter has since the second edition. Chapters that are not in it yet are listed
# in tests/support/not_yet.py.


def minutes_by_formula(notebook: NotebookNode) -> int:
    """What a chapter takes: 150 words a minute, 35 seconds a code cell, and its exercises."""
    words = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    cells = sum(not grader_of(cell) for cell in code_cells(notebook))
    exercises = sum(int(heading["minutes"]) for heading in exercise_headings(notebook))
    return round(words / 150 + cells * 35 / 60 + exercises)


def exercise_headings(notebook: NotebookNode) -> list[re.Match]:
    return [
        heading
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for heading in HEADING.finditer(cell.source)
    ]


def size(notebook: NotebookNode, chapter: str) -> list[str]:
    """A chapter has at most twelve exercises and four hours."""
    complaints = []
    exercises, minutes = len(exercise_cells(notebook)), notebook.metadata.course.get("minutes", 0)
    if exercises > MOST_EXERCISES:
        complaints.append(f"{exercises} exercises, at most {MOST_EXERCISES}")
    if minutes > MOST_MINUTES:
        complaints.append(f"{minutes} minutes, at most {MOST_MINUTES}")
    return complaints


def core_path(notebook: NotebookNode, chapter: str) -> list[str]:
    """The header gives the core path's minutes, 150 at most; its exercises are marked · core."""
    core = notebook.metadata.course.get("core")
    marked = [int(one["minutes"]) for one in exercise_headings(notebook) if one["core"]]
    if core is None:
        return ["the header has no course: core: (minutes of the core path)"]
    if core > MOST_CORE_MINUTES:
        return [f"the core path takes {core} minutes, at most {MOST_CORE_MINUTES}"]
    if exercise_cells(notebook) and not marked:
        return ["no exercise is marked · core"]
    if sum(marked) > core:
        return [f"the core exercises alone take {sum(marked)} minutes, the header says {core}"]
    return []


def quick_win(notebook: NotebookNode, chapter: str) -> list[str]:
    """The first exercise has one star and takes five minutes at most."""
    headings = exercise_headings(notebook)
    if headings and (headings[0]["stars"] != "★" or int(headings[0]["minutes"]) > 5):
        return [f"the first exercise is {headings[0][0]!r}: begin with a ★ of two to five minutes"]
    return []


def scaffolding(notebook: NotebookNode, chapter: str) -> list[str]:
    """At most ten visible lines of given code stand between an exercise's statement and its cell.

    A cell that the exercise asks to be read has the tag to-be-read, and does not count.
    """
    complaints = []
    for exercise in exercise_cells(notebook):
        lines = sum(
            length_of(cell)
            for cell in cells_given(notebook, exercise)
            if not cell.metadata.get("jupyter", {}).get("source_hidden")
            and TO_BE_READ not in tags_of(cell)
        )
        if lines > MOST_GIVEN_LINES:
            complaints.append(
                f"{name_of(notebook, exercise)}: {lines} visible lines of given code above it, at "
                f"most {MOST_GIVEN_LINES}: fold them or move them"
            )
    return complaints


def cells_given(notebook: NotebookNode, exercise: NotebookNode) -> list[NotebookNode]:
    """The code cells between an exercise's statement and its cell: locked ones, and plain ones."""
    end = start = notebook.cells.index(exercise)
    while start > 1:
        cell = notebook.cells[start - 1]
        if cell.cell_type != "code" or (grader_of(cell) and not grader_of(cell)["locked"]):
            break
        start -= 1
    return notebook.cells[start:end]


def call_outs(notebook: NotebookNode, chapter: str) -> list[str]:
    """At most eight call-outs (Then and now, Often said) stand in the text."""
    count = sum(
        len(re.findall(r"^> \*\*(?:Then and now|Often said)", cell.source, re.MULTILINE))
        for cell in notebook.cells
        if cell.cell_type == "markdown"
    )
    return [f"{count} call-outs, at most {MOST_CALL_OUTS}"] if count > MOST_CALL_OUTS else []


def visible_kinds(notebook: NotebookNode, chapter: str) -> list[str]:
    """A dtype that an exercise's hidden tests use stands in a visible check as well."""
    complaints = []
    for exercise in exercise_cells(notebook):
        name = grader_of(exercise)["grade_id"]
        mine = [
            check.source
            for check in check_cells(notebook)
            if exercise_of(grader_of(check)["grade_id"]) == name
        ]
        hidden = {kind for text in mine for part in HIDDEN.findall(text) for kind in KIND(part)}
        seen = {kind for text in mine for kind in KIND(HIDDEN.sub("", text))}
        if hidden - seen:
            which = ", ".join(sorted(hidden - seen))
            complaints.append(
                f"{name_of(notebook, exercise)}: only hidden tests use {which}: add a visible case"
            )
    return complaints


FORM = {
    rule.__name__: rule
    for rule in (size, core_path, quick_win, scaffolding, call_outs, visible_kinds)
}

RULES = {
    rule.__name__: rule
    for rule in (
        header, setup_cell, kinds, checks, headings, stubs, hints, words, names, check_ends,
        curriculum, lengths, imports, paths, deprecated, pictures, errors, falses,
    )
}  # fmt: skip
