"""JupyterHub's settings: students in JupyterLabs of their own, instructors in the course's.

What a school chooses stands in class.toml; docs/class-server.md goes through all of it.
"""

import math
import os
import pwd
import sys
from pathlib import Path

HUB = Path(__file__).resolve().parent
sys.path.insert(0, str(HUB))

from class_settings import COURSE_ID, home_problem, load, members  # noqa: E402

c = get_config()  # noqa: F821 -- traitlets defines it when it loads this file
chosen = load()

BIN = Path(sys.executable).parent
INSTRUCTORS, STUDENTS = f"formgrade-{COURSE_ID}", f"nbgrader-{COURSE_ID}"

# ---- where

c.JupyterHub.bind_url = f"http://{chosen.address}:{chosen.port}"
c.JupyterHub.hub_port = chosen.port_of("hub")
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{chosen.port_of('proxy')}"
# What a web server in front says of a request is passed on untouched: else nobody behind it would
# know that it was encrypted.
c.ConfigurableHTTPProxy.command = [sys.executable, str(HUB / "proxy.py"), "--no-x-forward"]
c.ConfigurableHTTPProxy.pid_file = str(chosen.state / "proxy.pid")
c.JupyterHub.db_url = f"sqlite:///{chosen.state}/hub.sqlite"
c.JupyterHub.cookie_secret_file = str(chosen.state / "cookie_secret")
# Students go on working while the hub is started again.
c.JupyterHub.cleanup_servers = False

# ---- who: accounts and groups of the system, with their passwords

c.JupyterHub.authenticator_class = "pam"
c.PAMAuthenticator.allowed_groups = {chosen.students, chosen.instructors}
c.Authenticator.manage_groups = True
# What the system's groups say counts from the next login.
c.JupyterHub.cookie_max_age_days = 1


def groups_of_the_system(authenticator, handler, authentication):
    """Who logs in, by whatever way, is what the system's groups say today.

    Hub's groups have the names that nbgrader gives them. Instructors are admins.
    """
    name = authentication["name"]
    authentication["admin"] = name in members(chosen.instructors)
    is_in = {INSTRUCTORS: chosen.instructors, STUDENTS: chosen.students}
    authentication["groups"] = [group for group, of in is_in.items() if name in members(of)]
    return authentication


c.Authenticator.post_auth_hook = groups_of_the_system

# ---- a student's JupyterLab

SETTINGS = chosen.settings
c.Spawner.cmd = [str(BIN / "jupyterhub-singleuser")]
c.Spawner.default_url = "/lab"
c.Spawner.mem_limit = int(chosen.memory * 2**30)
c.Spawner.cpu_limit = chosen.cores
c.Spawner.environment = {
    "PATH": os.pathsep.join([str(BIN), os.defpath]),
    "JUPYTER_CONFIG_PATH": os.pathsep.join(
        str(SETTINGS / part) for part in ("student", "learner", ".")
    ),
    # For course progress and course renew: the releases, and the folder with a student's copies.
    "COURSE_ROOT": str(SETTINGS),
    "COURSE_FOLDER": lambda spawner: pwd.getpwnam(spawner.user.name).pw_dir,
    "OMP_NUM_THREADS": str(math.ceil(chosen.cores)),
}
# Thirty that start at once wait for each other, and what starts with a busy machine waits as well.
START_SECONDS = 180
c.Spawner.start_timeout = START_SECONDS
c.Spawner.http_timeout = START_SECONDS


def see_the_home(spawner):
    """Start no server for a student whose files others could read, or who has no place for any."""
    problem = home_problem(spawner.user.name)
    if problem:
        error = RuntimeError(problem)
        error.jupyterhub_message = f"{problem}. Please tell your instructor."
        raise error


c.Spawner.pre_spawn_hook = see_the_home

SECONDS = int(chosen.hours * 3600)
if chosen.uses_systemd:
    c.JupyterHub.spawner_class = "systemd"
    c.SystemdSpawner.isolate_tmp = True
    c.SystemdSpawner.unit_extra_properties = {
        # What doesn't fit into the memory doesn't go to the disk instead.
        "MemorySwapMax": "0",
        "TasksMax": str(chosen.processes),
        "LimitCPU": str(SECONDS),
        "InaccessiblePaths": f"{chosen.course} {chosen.state}",
    }
else:
    c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
    c.Spawner.cmd = [
        "prlimit",
        f"--data={int(chosen.memory * 2**30)}",
        f"--nproc={chosen.processes}",
        f"--cpu={SECONDS}",
        *c.Spawner.cmd,
    ]

# ---- beside it: the instructors' JupyterLab with the course's folder, the page that shows the
# ---- class, and what ends idle servers

c.JupyterHub.services = [
    {
        "name": COURSE_ID,
        "url": f"http://127.0.0.1:{chosen.port_of('instructors')}",
        "command": [str(BIN / "jupyterhub-singleuser"), "--ServerApp.allow_root=False"],
        "user": chosen.account,
        "cwd": str(chosen.course),
        "environment": {
            "PATH": os.pathsep.join([str(BIN), os.defpath]),
            "HOME": str(chosen.home),
            "JUPYTER_CONFIG_PATH": os.pathsep.join([str(SETTINGS / "instructor"), str(SETTINGS)]),
            "JUPYTERHUB_DEFAULT_URL": "/lab",
        },
        "timeout": START_SECONDS,
        "oauth_no_confirm": True,
    },
    {
        "name": "class",
        "url": f"http://127.0.0.1:{chosen.port_of('class page')}",
        "command": [sys.executable, str(HUB / "class_page.py")],
        "timeout": START_SECONDS,
        "oauth_no_confirm": True,
    },
    {
        "name": "idle-culler",
        "command": [
            sys.executable,
            "-m",
            "jupyterhub_idle_culler",
            f"--timeout={math.ceil(chosen.idle_minutes * 60)}",
        ],
    },
]
c.JupyterHub.load_roles = [
    {
        "name": "instructor",
        "groups": [INSTRUCTORS],
        "scopes": [f"access:services!service={name}" for name in (COURSE_ID, "class")],
    },
    {
        "name": "idle-culler",
        "services": ["idle-culler"],
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
    },
]

# ---- whatever else a school sets, such as another way to log in (docs/class-server.md)

if (chosen.folder / "more.py").is_file():
    load_subconfig(str(chosen.folder / "more.py"))  # noqa: F821 -- traitlets' as well
