"""Names that a person should look at in a submission, and what using one means."""

from __future__ import annotations

# Modules, functions and attributes of modules, by their full dotted names; what lies inside one
# counts as well. The longest name that fits decides, and no words mean that it is harmless.
NAMES = {
    "_ctypes": "reaches memory past Python",
    "cffi": "reaches memory past Python",
    "ctypes": "reaches memory past Python",
    "gc": "reaches every object of the kernel",
    "inspect": "looks at other code's frames or source",
    "dis": "looks at other code's frames or source",
    "sys._getframe": "looks at other code's frames or source",
    "sys._current_frames": "looks at other code's frames or source",
    "sys.exc_info": "looks at other code's frames or source",
    "sys.settrace": "watches every line that runs",
    "sys.setprofile": "watches every line that runs",
    "sys.monitoring": "watches every line that runs",
    "threading.settrace": "watches every line that runs",
    "sys.addaudithook": "watches every line that runs",
    "sys.meta_path": "changes what import does",
    "sys.path_hooks": "changes what import does",
    "sys.modules": "changes what import does",
    "importlib": "changes what import does",
    "imp": "changes what import does",
    "builtins": "reaches Python's built-in functions",
    "unittest.mock": "replaces parts of other modules",
    "IPython": "reaches into IPython",
    "IPython.display": "",
    "get_ipython": "reaches into IPython",
    "ipykernel": "reaches into IPython",
    "In": "reads the code of other cells",
    "_ih": "reads the code of other cells",
    "nbgrader": "uses the grader's own tools",
    "nbclient": "uses the grader's own tools",
    "jupyter_client": "uses the grader's own tools",
    "zmq": "uses the grader's own tools",
    "sqlite3": "uses the grader's own tools",
    **{
        f"course_utils.{room}": "uses the grader's own tools"
        for room in (
            *("authoring", "cells", "command", "copies", "errors", "files", "gradebook", "grading"),
            *("kernels", "notebooks", "project", "system"),
        )
    },
    "os.fork": "starts or ends processes",
    "os.forkpty": "starts or ends processes",
    "os._exit": "starts or ends processes",
    "os.abort": "starts or ends processes",
    "os.kill": "starts or ends processes",
    "os.killpg": "starts or ends processes",
    "os.system": "starts or ends processes",
    "os.popen": "starts or ends processes",
    "subprocess": "starts or ends processes",
    "multiprocessing": "starts or ends processes",
    "torch.multiprocessing": "starts or ends processes",
    "pty": "starts or ends processes",
    "psutil": "starts or ends processes",
    "socket": "opens a connection",
    "urllib.request": "opens a connection",
    "http.client": "opens a connection",
    "requests": "opens a connection",
    "threading": "goes on in the background",
    "_thread": "goes on in the background",
    "concurrent": "goes on in the background",
    "asyncio": "goes on in the background",
    "atexit": "runs code at the kernel's end",
    "weakref.finalize": "runs code at the kernel's end",
    "signal": "handles the kernel's signals",
    "exit": "ends the kernel",
    "quit": "ends the kernel",
    "marshal": "runs code that it does not show",
    "pickle": "runs code that it does not show",
    "torch._C": "reaches into PyTorch's inside",
    "torch.library": "changes PyTorch's operators",
    "torch.overrides": "reaches into PyTorch's inside",
    "torch.utils._python_dispatch": "reaches into PyTorch's inside",
    "torch.utils.cpp_extension": "compiles code of its own",
}
PREFIXES = {"os.exec": "starts or ends processes", "os.spawn": "starts or ends processes"}
# Names that mean the same on whatever object they stand.
FRAMES = "looks at other code's frames or source"
INSIDE = "reaches a function's or a class's inside"
ATTRIBUTES = {
    **dict.fromkeys(
        ["__traceback__", "tb_frame", "tb_next", "f_back", "f_locals", "f_globals", "gi_frame"],
        FRAMES,
    ),
    **dict.fromkeys(["__code__", "__closure__", "__globals__", "__subclasses__"], INSIDE),
    "__builtins__": "reaches Python's built-in functions",
    "__import__": "changes what import does",
    "input_transformers_cleanup": "changes the code of other cells",
    "input_transformers_post": "changes the code of other cells",
    "ast_transformers": "changes the code of other cells",
    "user_ns": "reaches into IPython",
    "_disable_current_modes": "reaches into PyTorch's inside",
    "_get_current_dispatch_mode": "reaches into PyTorch's inside",
}
METHODS = {
    "__eq__": "decides for itself what it is equal to",
    "__instancecheck__": "decides for itself what it is an instance of",
    "__torch_function__": "decides for itself what PyTorch's functions do with it",
    "__torch_dispatch__": "decides for itself what PyTorch's operators do with it",
}
HARMLESS_MAGICS = {
    *("time", "timeit", "prun", "matplotlib", "config", "who", "whos", "pinfo", "pwd", "precision"),
    *("capture", "debug", "pdb", "tb", "xmode", "load_ext", "memit", "lsmagic", "html", "markdown"),
}
# Functions and methods whose text is a path.
OPENERS = {
    *("open", "Path", "load", "save", "fromfile", "from_file", "memmap", "loadtxt", "savetxt"),
    *("listdir", "scandir", "walk", "glob", "iglob", "rglob", "chdir", "symlink", "link"),
    *("symlink_to", "hardlink_to", "remove", "unlink", "rmtree", "rename", "copy", "copytree"),
    *("move", "joinpath", "makedirs", "read_csv", "exists", "expanduser"),
}
