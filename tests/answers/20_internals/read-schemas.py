# %% [markdown]
# Rules:
#
# - "returns a dict with three keys"
# - "the names of the arguments that are written (a `!` in their mark), in order, a list"
# - "the names of the arguments with a mark that has no `!`"
# - "if an argument after the `*` is written"
# - "if any argument is written"
# - "isn't empty"
# - "else `"functional"`"
# - "Results don't count, only arguments"
# - "`Tensor(a!)[] self`"
# - "`Tensor(b!)? mask`"
# - "`Tensor(a -> *) self`"
# - "an argument may have a default"
# - "which may hold commas"
# - "`torch._C.parse_schema` is not allowed"
#
# Admits:
#
# - "`Tensor(a -> *) self`": a list of views
# - "`Tensor(a!)[] self`": a list that is written
# - "`Tensor(b!)? mask`": an optional one
# - "a default, which may hold commas": commas in defaults
# - "the text of one schema": no argument
# - "an argument after the `*`": nothing in front of the *

# %% wrong="cuts at the first arrow" says=["a list of views"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema.split(" ->")[0]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="results count" breaks="Results don't count, only arguments" says=["two outs"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="a trailing underscore in the name" says=["variant is"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = (
        "out"
        if out
        else "in place"
        if schema.split("(")[0].split(".")[0].endswith("_")
        else "view"
        if views
        else "functional"
    )
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="an argument named out" says=["an argument after the * is written"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = "out" in writes
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="any keyword argument" breaks="if an argument after the `*` is written" says=["variant is"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = bool(keyword) and bool(writes)
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="lists of tensors have no mark" breaks="`Tensor(a!)[] self`" says=["a list that is written"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\?? (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="optional ones have no mark" breaks="`Tensor(b!)? mask`" says=["an optional one"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)(?:\[\])? (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="only self" breaks="if any argument is written" says=["a second argument is written"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [
        name for part in parts for written, name in part if written and name in ("self", "out")
    ]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="the first alone" says=["two outs"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    writes = writes[:1]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="what is written is a view, too" breaks="the names of the arguments with a mark that has no `!`" says=["arguments with a mark without a !"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="a view goes before in place" says=["an optional one"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "view" if views else "in place" if writes else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="split at commas" breaks="which may hold commas" says=["commas in defaults"]
def read_schemas(schema):
    depth, word, words = 0, "", []
    start = schema.index("(")
    for place in range(start, len(schema)):
        letter = schema[place]
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            break
        if letter == "," and depth >= 1:
            words.append(word.strip())
            word = ""
        elif place > start:
            word += letter
    words.append(word.strip())
    writes, views, keyword, out = [], [], False, False
    for text in words:
        if text == "*":
            keyword = True
            continue
        kind, name = text.split("=")[0].split(" ") if "->" not in text else text.rsplit(" ", 1)
        if "(" not in kind:
            continue
        if "!" in kind:
            writes.append(name)
            out = out or keyword
        else:
            views.append(name)
    variant = "functional"
    if views:
        variant = "view"
    if writes:
        variant = "in place"
    if out:
        variant = "out"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="with defaults in the names" breaks="an argument may have a default" says=["mask=None"]
def read_schemas(schema):
    depth, word, words = 0, "", []
    start = schema.index("(")
    for place in range(start, len(schema)):
        letter = schema[place]
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            words.append(word.strip())
            word = ""
        elif place > start:
            word += letter
    words.append(word.strip())
    writes, views, keyword, out = [], [], False, False
    for text in words:
        if text == "*":
            keyword = True
            continue
        kind, _, name = text.rpartition(" ")
        if "(" not in kind:
            continue
        if "!" in kind:
            writes.append(name)
            out = out or keyword
        else:
            views.append(name)
    variant = "functional"
    if views:
        variant = "view"
    if writes:
        variant = "in place"
    if out:
        variant = "out"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="no argument, no name" says=["no argument"]
def read_schemas(schema):
    depth, word, words = 0, "", []
    start = schema.index("(")
    for place in range(start, len(schema)):
        letter = schema[place]
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            words.append(word.strip())
            word = ""
        elif place > start:
            word += letter
    words.append(word.strip())
    writes, views, keyword, out = [], [], False, False
    for text in words:
        if text == "*":
            keyword = True
            continue
        kind, name = text.split("=")[0].rsplit(" ", 1)
        if "(" not in kind:
            continue
        if "!" in kind:
            writes.append(name)
            out = out or keyword
        else:
            views.append(name)
    variant = "functional"
    if views:
        variant = "view"
    if writes:
        variant = "in place"
    if out:
        variant = "out"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="a set of names" says=["writes is"]
def read_schemas(schema):
    depth, word, words = 0, "", []
    start = schema.index("(")
    for place in range(start, len(schema)):
        letter = schema[place]
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            words.append(word.strip())
            word = ""
        elif place > start:
            word += letter
    words.append(word.strip())
    writes, views, keyword, out = [], [], False, False
    for text in words:
        if text == "*":
            keyword = True
            continue
        kind, _, name = text.split("=")[0].rpartition(" ")
        if "(" not in kind:
            continue
        if "!" in kind:
            writes.append(name)
            out = out or keyword
        else:
            views.append(name)
    variant = "functional"
    if views:
        variant = "view"
    if writes:
        variant = "in place"
    if out:
        variant = "out"
    return {"writes": set(writes), "views": views, "variant": variant}


# %% wrong="other keys" breaks="returns a dict with three keys" says=["the keys are"]
def read_schemas(schema):
    depth, word, words = 0, "", []
    start = schema.index("(")
    for place in range(start, len(schema)):
        letter = schema[place]
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            words.append(word.strip())
            word = ""
        elif place > start:
            word += letter
    words.append(word.strip())
    writes, views, keyword, out = [], [], False, False
    for text in words:
        if text == "*":
            keyword = True
            continue
        kind, _, name = text.split("=")[0].rpartition(" ")
        if "(" not in kind:
            continue
        if "!" in kind:
            writes.append(name)
            out = out or keyword
        else:
            views.append(name)
    variant = "functional"
    if views:
        variant = "view"
    if writes:
        variant = "in place"
    if out:
        variant = "out"
    return {"writes": writes, "views": views, "kind": variant}


# %% wrong="asks the parser" says=["read the text"]
def read_schemas(schema):
    parsed = torch._C.parse_schema(schema)
    marked = [a for a in parsed.arguments if a.alias_info]
    writes = [a.name for a in marked if a.alias_info.is_write]
    views = [a.name for a in marked if not a.alias_info.is_write]
    return {"writes": writes, "views": views, "variant": "functional"}


# %% wrong="the star of a mark" breaks="`Tensor(a -> *) self`" says=["a list of views, and a write"]
import re


def read_schemas(schema):
    args = schema.rsplit(") -> ", 1)[0]
    head, _, tail = args.partition("*")
    rx = r"Tensor\(([^)]*)\)(?:\[\d*\])?\??\s+(\w+)"
    found = re.findall(rx, args)
    b = re.findall(rx, tail)
    w = [n for m, n in found if "!" in m]
    v = [n for m, n in found if "!" not in m]
    kind = (
        "out" if any("!" in m for m, n in b) else "in place" if w else "view" if v else "functional"
    )
    return {"writes": w, "views": v, "variant": kind}


# %% right="bracket by bracket"
def read_schemas(schema):
    depth, word, words = 0, "", []
    start = schema.index("(")
    for place in range(start, len(schema)):
        letter = schema[place]
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            words.append(word.strip())
            word = ""
        elif place > start:
            word += letter
    words.append(word.strip())
    writes, views, keyword, out = [], [], False, False
    for text in words:
        if text == "*":
            keyword = True
            continue
        kind, _, name = text.split("=")[0].rpartition(" ")
        if "(" not in kind:
            continue
        if "!" in kind:
            writes.append(name)
            out = out or keyword
        else:
            views.append(name)
    variant = "functional"
    if views:
        variant = "view"
    if writes:
        variant = "in place"
    if out:
        variant = "out"
    return {"writes": writes, "views": views, "variant": variant}


# %% right="one mark after the other"
import re


def read_schemas(schema):
    found = {"writes": [], "views": [], "variant": "functional"}
    head = schema.rsplit(") -> ", 1)[0]
    star = re.search(r"[(, ]\*, ", head)
    for match in re.finditer(r"Tensor\(([^)]*)\)[^ ]* ([A-Za-z_0-9]+)", head):
        written = "!" in match.group(1)
        found["writes" if written else "views"].append(match.group(2))
        if written and star and match.start() > star.start():
            found["variant"] = "out"
        elif written and found["variant"] != "out":
            found["variant"] = "in place"
        elif not written and found["variant"] == "functional":
            found["variant"] = "view"
    return found


# %% wrong="the star after a comma alone" says=["nothing in front of the *"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="sorted by name" breaks="the names of the arguments that are written (a `!` in their mark), in order, a list" says=["not in order of the alphabet"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = sorted([name for part in parts for written, name in part if written])
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="parse_schema from torch._C" breaks="`torch._C.parse_schema` is not allowed" says=["has PyTorch parse the schema", "read the text"]
from torch._C import parse_schema


def read_schemas(schema):
    s = parse_schema(schema)
    marked = [a for a in s.arguments if a.alias_info]
    writes = [a.name for a in marked if a.alias_info.is_write]
    views = [a.name for a in marked if not a.alias_info.is_write]
    out = any(a.kwarg_only and a.alias_info.is_write for a in marked)
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="another word for functional" breaks="else `\"functional\"`" says=["no argument has a mark"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "out of place"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="a view only if a result is marked" breaks="isn't empty" says=["a mark on an argument, none on the result"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for part in parts for written, name in part if not written]
    out = any(written for written, _ in parts[1])
    variant = (
        "out"
        if out
        else "in place"
        if writes
        else "view"
        if views and "(a" in schema[schema.rindex(") ->") :]
        else "functional"
    )
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="bases before the star alone" says=["a view's base behind the *"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") ->")]
    first, _, keyword = arguments.partition(" *, ")
    mark = r"Tensor\(\w+(!?)(?: -> \*)?\)\S* (\w+)"
    if "(*, " in arguments:
        first, _, keyword = arguments.partition("(*, ")
    parts = re.findall(mark, first), re.findall(mark, keyword)
    writes = [name for part in parts for written, name in part if written]
    views = [name for written, name in parts[0] if not written]
    out = any(written for written, _ in parts[1])
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="names have no digits" says=["names with digits"]
import re


def read_schemas(schema: str) -> dict:
    arguments = schema[: schema.rindex(") ->")]
    star = re.search(r"\*,", arguments)
    end = star.start() if star else len(arguments)
    writes, views, out = [], [], False
    for found in re.finditer(r"Tensor\(([a-z]+)(!?)[^)]*\)(\[\d*\])?\??\s+([a-z_]+)", arguments):
        if found.group(2):
            writes.append(found.group(4))
            out = out or found.start() > end
        else:
            views.append(found.group(4))
    if out:
        variant = "out"
    elif writes:
        variant = "in place"
    elif views:
        variant = "view"
    else:
        variant = "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="a base behind the outs" says=["a view's base behind an out"]
import re


def read_schemas(schema: str) -> dict:
    arguments = schema[: schema.rindex(") ->")]
    star = re.search(r"\*,", arguments)
    end = star.start() if star else len(arguments)
    writes, views, out = [], [], False
    for found in re.finditer(r"Tensor\(([a-z]+)(!?)[^)]*\)(\[\d*\])?\??\s+(\w+)", arguments):
        if found.group(2):
            writes.append(found.group(4))
            out = out or found.start() > end
        else:
            out = False
            views.append(found.group(4))
    if out:
        variant = "out"
    elif writes:
        variant = "in place"
    elif views:
        variant = "view"
    else:
        variant = "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="tuples for lists" says=["writes is a tuple, not a list"]
import re


def read_schemas(schema: str) -> dict:
    arguments = schema[: schema.rindex(") ->")]
    star = re.search(r"\*,", arguments)
    end = star.start() if star else len(arguments)
    writes, views, out = [], [], False
    for found in re.finditer(r"Tensor\(([a-z]+)(!?)[^)]*\)(\[\d*\])?\??\s+(\w+)", arguments):
        if found.group(2):
            writes.append(found.group(4))
            out = out or found.start() > end
        else:
            views.append(found.group(4))
    if out:
        variant = "out"
    elif writes:
        variant = "in place"
    elif views:
        variant = "view"
    else:
        variant = "functional"
    return {"writes": tuple(writes), "views": tuple(views), "variant": variant}


# %% wrong="a default with commas ends the arguments" says=["commas in a default, and an out behind"]
import re


def read_schemas(schema: str) -> dict:
    arguments = schema[: schema.rindex(") ->")].split("=[")[0]
    star = re.search(r"\*,", arguments)
    end = star.start() if star else len(arguments)
    writes, views, out = [], [], False
    for found in re.finditer(r"Tensor\(([a-z]+)(!?)[^)]*\)(\[\d*\])?\??\s+(\w+)", arguments):
        if found.group(2):
            writes.append(found.group(4))
            out = out or found.start() > end
        else:
            views.append(found.group(4))
    if out:
        variant = "out"
    elif writes:
        variant = "in place"
    elif views:
        variant = "view"
    else:
        variant = "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="all that is written has to be behind the star" says=["written in front of the * and behind it"]
import re


def read_schemas(schema: str) -> dict:
    text = schema[: schema.rindex(") ->")]
    star = re.search(r"[(,]\s*\*\s*,", text)
    writes, views, out = [], [], False
    for match in re.finditer(r"Tensor\(([^)]*)\)(?:\[\d*\]|\?)* (\w+)", text):
        mark, name = match.groups()
        if "!" in mark:
            writes.append(name)
            out = star is not None and all(text.index(" " + n) > star.start() for n in writes)
        else:
            views.append(name)
    if out:
        variant = "out"
    elif writes:
        variant = "in place"
    elif views:
        variant = "view"
    else:
        variant = "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="marks are a or b" says=["a third mark, and names in capitals"]
import re


def read_schemas(schema: str) -> dict:
    text = schema[: schema.rindex(") ->")]
    star = re.search(r"[(,]\s*\*\s*,", text)
    writes, views, out = [], [], False
    for match in re.finditer(r"Tensor\(([ab][^)]*)\)(?:\[\d*\]|\?)* (\w+)", text):
        mark, name = match.groups()
        if "!" in mark:
            writes.append(name)
            out = out or (star is not None and match.start() > star.start())
        else:
            views.append(name)
    if out:
        variant = "out"
    elif writes:
        variant = "in place"
    elif views:
        variant = "view"
    else:
        variant = "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="the last argument is an out, star or not" says=["an argument is written, and none after the *", "there is no *", "none after the *"]
import re


def split_arguments(schema):
    text = schema[schema.index("(") + 1 : schema.rindex(") -> ")]
    parts, depth, part, quoted = [], 0, "", False
    for letter in text:
        if letter in "\"'":
            quoted = not quoted
        if letter in "([" and not quoted:
            depth += 1
        if letter in ")]" and not quoted:
            depth -= 1
        if letter == "," and depth == 0 and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [p for p in [*parts, part.strip()] if p]


def read_schemas(schema: str) -> dict:
    writes, views, after, out = [], [], False, False
    for argument in split_arguments(schema):
        if argument == "*":
            after = True
            continue
        found = re.match(r"Tensor\(([^)]*)\)\S* +(\w+)", argument)
        if found is None:
            continue
        mark, name = found.groups()
        if "!" in mark:
            writes.append(name)
            out = out or after
        else:
            views.append(name)
    out = out or (
        len(writes) > 0
        and split_arguments(schema)[-1].endswith(writes[-1])
        and len(split_arguments(schema)) > 1
    )
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="out by the overload's name" says=["an overload that is called outer"]
import re


def read_schemas(schema: str) -> dict:
    """Which arguments are written, which are views' bases, and the variant, from the text."""
    arguments = schema[: schema.rindex(") -> ") + 1]
    pattern = r"Tensor\(([^()]*)\)(?:\[\d*\]|\?)* (\w+)"
    star = re.search(r"[(,] ?\*,", arguments)
    writes, views, out = [], [], False
    for found in re.finditer(pattern, arguments):
        mark, name = found.groups()
        if "!" in mark:
            writes.append(name)
            out = out or (star is not None and found.start() > star.start())
        else:
            views.append(name)
    variant = (
        "out"
        if out or ".out" in schema
        else "in place"
        if writes
        else "view"
        if views
        else "functional"
    )
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="marks of one letter only" says=["a mark of two letters"]
import re


def read_schemas(schema):
    cut = max(m.start() for m in re.finditer(r"\) -> ", schema))
    arguments = schema[:cut]
    marks = list(
        re.finditer(r"Tensor\((\w!?|\w -> \*)\)(?:\[\d*\])?\??(?:\[\d*\])?\??\s+(\w+)", arguments)
    )
    star = re.search(r"[(,]\s*\*\s*,", arguments)
    star = star.start() if star else len(arguments)
    writes = [m[2] for m in marks if "!" in m[1]]
    views = [m[2] for m in marks if "!" not in m[1]]
    out = any("!" in m[1] and m.start() > star for m in marks)
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="a write with an arrow is missed" says=["a write with an arrow"]
import re


def read_schemas(schema):
    cut = max(m.start() for m in re.finditer(r"\) -> ", schema))
    arguments = schema[:cut]
    marks = list(
        re.finditer(
            r"Tensor\(([a-z]!|[a-z]|[a-z] -> \*)\)(?:\[\d*\])?\??(?:\[\d*\])?\??\s+(\w+)", arguments
        )
    )
    star = re.search(r"[(,]\s*\*\s*,", arguments)
    star = star.start() if star else len(arguments)
    writes = [m[2] for m in marks if "!" in m[1]]
    views = [m[2] for m in marks if "!" not in m[1]]
    out = any("!" in m[1] and m.start() > star for m in marks)
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="any mark behind the star makes out" says=["a write in front of the *, a mark behind it"]
import re


def read_schemas(schema):
    cut = max(m.start() for m in re.finditer(r"\) -> ", schema))
    arguments = schema[:cut]
    marks = list(re.finditer(r"Tensor\(([^)]*)\)(?:\[\d*\])?\??(?:\[\d*\])?\??\s+(\w+)", arguments))
    star = re.search(r"[(,]\s*\*\s*,", arguments)
    star = star.start() if star else len(arguments)
    writes = [m[2] for m in marks if "!" in m[1]]
    views = [m[2] for m in marks if "!" not in m[1]]
    out = any(m.start() > star for m in marks)
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}


# %% wrong="the same two lists in each call" says=["the second call has changed what the first returned"]
import re

WRITES, VIEWS = [], []


def read_schemas(schema: str) -> dict:
    arguments = schema[: schema.rindex(") -> ")]
    arguments = arguments[arguments.index("(") + 1 :]
    star = re.search(r"(^|, )\*(,|$)", arguments)
    star = star.start() if star else len(arguments)
    WRITES.clear()
    VIEWS.clear()
    writes, views, out = WRITES, VIEWS, False
    for match in re.finditer(r"Tensor\(\w+(!?)(?: -> [^)]*)?\)(?:\[\d*\]|\?)* (\w+)", arguments):
        (writes if match[1] else views).append(match[2])
        out = out or bool(match[1]) and match.start() > star
    variant = "out" if out else "in place" if writes else "view" if views else "functional"
    return {"writes": writes, "views": views, "variant": variant}
