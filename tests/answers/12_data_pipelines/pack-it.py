# %% [markdown]
# Rules:
#
# - "writes an iterable of `bytes`"
# - "some may be empty"
# - "there may be 100 000"
# - "or none at all"
# - "or 2**30 bytes in all"
# - "whatever its name"
# - "Until everything is written, `path` stays as it was"
# - "That holds if `items` raises (let it through)"
# - "if the process is killed, at whatever step"
# - "nothing that was left over"
# - "The system's folder for temporary files may be on another disk"
# - "gives the item of that place"
# - "a dataset that is made after `pack_it` wrote anew reads the new items"
# - "as `bytes`"
# - "an index past the end is an `IndexError`"
# - "It can be pickled, before and after use"
# - "Each process that reads opens the file itself, once"
# - "not for every item"
# - "asking for the length is reading, too"
# - "any other process that was forked"
# - "Open for reading with `readonly=True, lock=False`"
#
# Admits:
#
# - "some may be empty": an empty item
# - "there may be 100 000": 70 001 items
# - "or none at all": no items
# - "or 2**30 bytes in all": a gigabyte of items, 1024 times smaller
# - "whatever its name": an old file at pack.tmp, pack.part, a long name and others
# - "may be on another disk": temporary files on another disk
# - "any other process that was forked": a forked process, no worker, after the parent has read
# - "at whatever step": killed at each step

# %% wrong="opened in the constructor" breaks="It can be pickled, before and after use" says=["can't be pickled", "cannot pickle"]
def pack_it(items, path):
    partial = str(path) + ".tmp"
    env = lmdb.open(partial, subdir=False, map_size=2**34)
    with env.begin(write=True) as t:
        for n, item in enumerate(items):
            t.put(str(n).encode(), item)
    env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.env = lmdb.open(str(path), subdir=False, readonly=True, lock=False)

    def __len__(self):
        return self.env.stat()["entries"]

    def __getitem__(self, index):
        with self.env.begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item


# %% wrong="opened for every item" breaks="not for every item" says=["opened the file", "expected once"]
def pack_it(items, path):
    partial = str(path) + ".tmp"
    env = lmdb.open(partial, subdir=False, map_size=2**34)
    with env.begin(write=True) as t:
        for n, item in enumerate(items):
            t.put(str(n).encode(), item)
    env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path = str(path)

    def __len__(self):
        with lmdb.open(self.path, subdir=False, readonly=True, lock=False) as env:
            return env.stat()["entries"]

    def __getitem__(self, index):
        with lmdb.open(self.path, subdir=False, readonly=True, lock=False) as env, env.begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item


# %% wrong="writes to the path itself, default map" says=["48 MB", "MapFullError", "an old file at path", "nothing may be at path"]
def pack_it(items, path):
    env = lmdb.open(str(path), subdir=False, map_size=10 * 2**20)
    try:
        for n, item in enumerate(items):
            with env.begin(write=True) as t:
                t.put(str(n).encode(), item)
    finally:
        env.close()


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env, self.pid = (
                lmdb.open(self.path, subdir=False, readonly=True, lock=False),
                os.getpid(),
            )
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="lazy, but a forked worker uses what it inherited" says=["two workers, after the parent has read", "it used what it inherited"]
def pack_it(items, path):
    partial = str(path) + ".tmp"
    env = lmdb.open(partial, subdir=False, map_size=2**34)
    with env.begin(write=True) as t:
        for n, item in enumerate(items):
            t.put(str(n).encode(), item)
    env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env = str(path), None

    def open(self):
        if self.env is None:
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None}


# %% wrong="a forked worker opens, and does not close what it inherited" breaks="Each process that reads opens the file itself, once" says=["already open in this process"]
def pack_it(items, path):
    partial = str(path) + ".tmp"
    env = lmdb.open(partial, subdir=False, map_size=2**34)
    with env.begin(write=True) as t:
        for n, item in enumerate(items):
            t.put(str(n).encode(), item)
    env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            self.env, self.pid = (
                lmdb.open(self.path, subdir=False, readonly=True, lock=False),
                os.getpid(),
            )
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="an empty item is taken for the end; by a cursor's order" says=["an empty item", "in whose order?"]
def pack_it(items, path):
    partial = str(path) + ".tmp"
    env = lmdb.open(partial, subdir=False, map_size=2**34)
    with env.begin(write=True) as t:
        for n, item in enumerate(items):
            t.put(str(n).encode(), item)
    env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env, self.pid = (
                lmdb.open(self.path, subdir=False, readonly=True, lock=False),
                os.getpid(),
            )
            with self.env.begin() as t:
                self.keys = [key for key, _ in t.cursor()]
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(self.keys[index])
        if not item:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% right="numbered keys, the count stored, an environment for each process"
ENVIRONMENTS = {}


def environment(path):
    mine = path, os.getpid(), os.stat(path).st_ino
    if mine not in ENVIRONMENTS:
        for key in [key for key in ENVIRONMENTS if key[0] == path]:
            ENVIRONMENTS.pop(key).close()
        ENVIRONMENTS[mine] = lmdb.open(path, subdir=False, readonly=True, lock=False)
    return ENVIRONMENTS[mine]


def pack_it(items, path):
    path = Path(path)
    new = path.parent / f".{path.name}-{os.getpid()}"
    try:
        env = lmdb.Environment(str(new), subdir=False, map_size=1 << 35, sync=True, lock=False)
        count = 0
        with env:
            for item in items:
                with env.begin(write=True) as t:
                    t.put(count.to_bytes(8, "big"), item)
                count += 1
            with env.begin(write=True) as t:
                t.put(b"count", count.to_bytes(8, "big"))
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path = str(path)

    def __len__(self):
        with environment(self.path).begin() as t:
            return int.from_bytes(t.get(b"count"), "big")

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"{index} of {len(self)}")
        with environment(self.path).begin() as t:
            return t.get(index.to_bytes(8, "big"))


# %% right="a temporary folder, reduced to its path, with buffers"
def pack_it(items, path):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        name = os.path.join(folder, "x")
        env = lmdb.open(name, subdir=False, map_size=2**33)
        transaction = env.begin(write=True)
        try:
            for number, item in enumerate(items):
                transaction.put(f"{number:010}".encode(), bytes(item))
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise
        finally:
            env.close()
        os.replace(name, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.open_in = path, {}

    def __reduce__(self):
        return PackedDataset, (self.path,)

    def reader(self):
        me = os.getpid()
        if me not in self.open_in:
            for env in self.open_in.values():
                env.close()
            env = lmdb.open(str(self.path), subdir=False, readonly=True, lock=False)
            self.open_in = {me: env}
        return self.open_in[me]

    def __len__(self):
        with self.reader().begin() as transaction:
            return transaction.stat()["entries"]

    def __getitem__(self, index):
        with self.reader().begin(buffers=True) as transaction:
            found = transaction.get(f"{index:010}".encode())
            if found is None:
                raise IndexError
            return bytes(found)


# %% wrong="goes on in the part that a killed writer left" breaks="nothing that was left over" says=["did the killed writer's half-written file come back?"]
def pack_it(items, path):
    part = str(path) + ".part"
    env = lmdb.open(part, subdir=False, map_size=2**30, lock=False)
    try:
        for n, item in enumerate(items):
            with env.begin(write=True) as txn:
                txn.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def _open(self):
        if self.pid != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env, self.pid = (
                lmdb.open(self.path, subdir=False, readonly=True, lock=False),
                os.getpid(),
            )
        return self.env

    def __len__(self):
        return self._open().stat()["entries"]

    def __getitem__(self, i):
        with self._open().begin() as txn:
            v = txn.get(str(i).encode())
        if v is None:
            raise IndexError(i)
        return v

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="opens in the constructor, and again when unpickled" says=["unpickling opened it: open at first use"]
def pack_it(items, path):
    tmp = str(path) + ".tmp"
    env = lmdb.open(tmp, subdir=False, map_size=2**30, lock=False)
    with env.begin(write=True) as txn:
        for n, item in enumerate(items):
            txn.put(b"%09d" % n, item)
    env.close()
    os.replace(tmp, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path = str(path)
        self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)

    def __len__(self):
        return self.env.stat()["entries"]

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        with self.env.begin() as txn:
            return txn.get(b"%09d" % i)

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, state):
        self.__init__(state["path"])


# %% right="commits in tens to a hidden file, the length kept"
def pack_it(items, path):
    part = Path(path).with_name("." + Path(path).name + ".part")
    part.unlink(missing_ok=True)
    env = lmdb.open(str(part), map_size=2**32, subdir=False, lock=False, sync=False)
    txn, n = env.begin(write=True), 0
    try:
        for item in items:
            txn.put(f"{n:012}".encode(), item)
            n += 1
            if n % 10 == 0:
                txn.commit()
                txn = env.begin(write=True)
        txn.put(b"count", str(n).encode())
        txn.commit()
        env.sync(True)
    except BaseException:
        txn.abort()
        env.close()
        part.unlink()
        raise
    env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path = Path(path)
        self._env = self._pid = self._length = None

    @property
    def env(self):
        if self._pid != os.getpid():
            if self._env is not None:
                self._env.close()
            self._env = lmdb.open(
                str(self.path), subdir=False, readonly=True, lock=False, readahead=False
            )
            self._pid = os.getpid()
        return self._env

    def __len__(self):
        if self._length is None:
            with self.env.begin() as txn:
                self._length = int(txn.get(b"count"))
        return self._length

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(index)
        with self.env.begin(buffers=True) as txn:
            return bytes(txn.get(f"{index:012}".encode()))

    def __reduce__(self):
        return type(self), (self.path,)


# %% wrong="takes the old file away and writes to the path" breaks="Until everything is written, `path` stays as it was" says=["killed at each step, an old file at path", "killed before lmdb.open, a reader finds no file, expected the two old items"]
def pack_it(items, path):
    items = list(items)
    Path(path).unlink(missing_ok=True)
    env = lmdb.open(str(path), subdir=False, map_size=2**34, lock=False)
    with env.begin(write=True) as t:
        for n, item in enumerate(items):
            t.put(str(n).encode(), item)
    env.close()


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="copies the finished file to its place" says=["killed after open() for writing"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    import shutil

    shutil.copyfile(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="takes the old file away before the new one comes" breaks="if the process is killed, at whatever step" says=["a reader finds no file, expected the two old items"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    Path(path).unlink(missing_ok=True)
    partial.rename(path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="a finished part of a killed writer comes back" says=["two items packed then: a reader finds 9 items"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="a finished part is in the way of the next writer" says=["came back, or was in the way"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    if partial.exists():
        raise FileExistsError(partial)
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="puts the file in place before it is closed" says=["killed after os.replace, a reader finds"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
            os.replace(partial, path)
    finally:
        env.close()


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="a byte for a key" says=["1100 small items"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(bytes([n]), item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(bytes([index]))
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="sixteen megabytes will do" says=["48 MB", "MapFullError"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**24, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="tells the process by its worker" breaks="any other process that was forked" says=["a forked process, no worker", "it used what its parent had opened; compare os.getpid()"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def me(self):
        info = torch.utils.data.get_worker_info()
        return -1 if info is None else info.id

    def open(self):
        if self.env is None or self.pid != self.me():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = self.me()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="opens for the length, as H5Images does" says=["once more for the length?"]
def pack_it(items, path):
    partial = Path(str(path) + ".tmp")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None
        with lmdb.open(self.path, subdir=False, readonly=True, lock=False) as env:
            self.length = env.stat()["entries"]

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        with self.env.begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "env": None, "pid": None}


# %% right="the map grows when it is full, the pieces in a folder"
def pack_it(items, path):
    path = Path(path)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        part = Path(folder) / "part"
        with lmdb.open(str(part), subdir=False, map_size=2**20, lock=False, sync=False) as env:
            for n, item in enumerate(items):
                while True:
                    try:
                        with env.begin(write=True) as t:
                            t.put(n.to_bytes(8, "big"), item)
                        break
                    except lmdb.MapFullError:
                        env.set_mapsize(2 * env.info()["map_size"])
            env.sync(True)
        part.replace(path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(index.to_bytes(8, "big"))
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="written where temporary files are, and renamed" breaks="The system's folder for temporary files may be on another disk" says=["temporary files on another disk", "a rename works within one disk"]
def pack_it(items, path):
    part = os.path.join(tempfile.mkdtemp(), "part")
    env = lmdb.open(part, subdir=False, map_size=2**36, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(b"%012d" % n, item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as transaction:
            item = transaction.get(b"%012d" % index)
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="written where temporary files are, and moved" says=["temporary files on another disk", "the old file was written over"]
def pack_it(items, path):
    part = os.path.join(tempfile.mkdtemp(), "part")
    env = lmdb.open(part, subdir=False, map_size=2**36, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(b"%012d" % n, item)
    finally:
        env.close()
    shutil.move(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as transaction:
            item = transaction.get(b"%012d" % index)
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="a quarter of a gigabyte will do" says=["map_size is 268,435,456, whatever comes"]
def pack_it(items, path):
    part = str(path) + ".part"
    if os.path.exists(part):
        os.remove(part)
    env = lmdb.open(part, subdir=False, map_size=2**28, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(b"%012d" % n, item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as transaction:
            item = transaction.get(b"%012d" % index)
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% right="as large as the items, in a list first"
def pack_it(items, path):
    items = list(items)
    part = str(path) + ".part"
    if os.path.exists(part):
        os.remove(part)
    env = lmdb.open(
        part, subdir=False, map_size=2**22 + 2 * sum(len(item) + 8192 for item in items), lock=False
    )
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(b"%012d" % n, item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as transaction:
            item = transaction.get(b"%012d" % index)
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% right="grows from 64 MB"
def pack_it(items, path):
    part = f"{path}.new"
    if os.path.exists(part):
        os.remove(part)
    env = lmdb.open(part, subdir=False, map_size=2**26, lock=False)
    try:
        for n, item in enumerate(items):
            while True:
                try:
                    with env.begin(write=True) as transaction:
                        transaction.put(b"%012d" % n, item)
                    break
                except lmdb.MapFullError:
                    env.set_mapsize(2 * env.info()["map_size"])
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as transaction:
            item = transaction.get(b"%012d" % index)
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="views of the file, not bytes" breaks="as `bytes`" says=["items are ['memoryview'], expected bytes"]
def pack_it(items, path):
    part = str(path) + ".part"
    if os.path.exists(part):
        os.remove(part)
    env = lmdb.open(part, subdir=False, map_size=2**36, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(b"%012d" % n, item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.pid = str(path), None, None

    def open(self):
        if self.pid != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin(buffers=True) as transaction:
            item = transaction.get(b"%012d" % index)
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}


# %% wrong="with_suffix(.tmp)" breaks="whatever its name" says=["at pack.tmp, expected the two old ones"]
def pack_it(items, path):
    path = Path(path)
    part = path.with_suffix(".tmp")
    for old in (part, Path(str(part) + "-lock")):
        old.unlink(missing_ok=True)
    env = lmdb.open(str(part), subdir=False, map_size=2**40, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def _open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self._open().stat()["entries"]

    def __getitem__(self, index):
        with self._open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="keys of two bytes" breaks="there may be 100 000" says=["70 001 items", "for how many items are there keys?"]
def pack_it(items, path):
    path = Path(path)
    part = path.with_name(path.name + ".part")
    for old in (part, Path(str(part) + "-lock")):
        old.unlink(missing_ok=True)
    env = lmdb.open(str(part), subdir=False, map_size=2**40, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(n.to_bytes(2, "big"), item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def _open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self._open().stat()["entries"]

    def __getitem__(self, index):
        with self._open().begin() as t:
            item = t.get(index.to_bytes(2, "big") if 0 <= index < 65536 else b"none")
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="keys of four digits" says=["70 001 items", "does a key come twice?"]
def pack_it(items, path):
    path = Path(path)
    part = path.with_name(path.name + ".part")
    for old in (part, Path(str(part) + "-lock")):
        old.unlink(missing_ok=True)
    env = lmdb.open(str(part), subdir=False, map_size=2**40, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(f"{n:04}"[-4:].encode(), item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def _open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self._open().stat()["entries"]

    def __getitem__(self, index):
        with self._open().begin() as t:
            item = t.get(f"{index:04}".encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="map of a gigabyte" breaks="or 2**30 bytes in all" says=["map_size is 1,073,741,824, whatever comes"]
def pack_it(items, path):
    path = Path(path)
    part = path.with_name(path.name + ".part")
    for old in (part, Path(str(part) + "-lock")):
        old.unlink(missing_ok=True)
    env = lmdb.open(str(part), subdir=False, map_size=2**30, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def _open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self._open().stat()["entries"]

    def __getitem__(self, index):
        with self._open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="length without the check of the process" breaks="asking for the length is reading, too" says=["asked for its length, it used what its parent had opened"]
def pack_it(items, path):
    path = Path(path)
    part = path.with_name(path.name + ".part")
    for old in (part, Path(str(part) + "-lock")):
        old.unlink(missing_ok=True)
    env = lmdb.open(str(part), subdir=False, map_size=2**40, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def _open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return (self.env or self._open()).stat()["entries"]

    def __getitem__(self, index):
        with self._open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="tells the process by its name" says=["it used what its parent had opened; compare os.getpid()"]
def pack_it(items, path):
    partial = f"{path}.partial"
    if os.path.exists(partial):
        os.remove(partial)
    env = lmdb.open(partial, subdir=False, map_size=2**36, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(b"%d" % n, item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def get(self):
        me = multiprocessing.current_process().name
        if self.owner != me:
            if self.env is not None:
                self.env.close()
            self.env, self.owner = lmdb.open(self.path, subdir=False, readonly=True, lock=False), me
        return self.env

    def __len__(self):
        return self.get().stat()["entries"]

    def __getitem__(self, index):
        with self.get().begin() as t:
            item = t.get(b"%d" % index)
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% right="a dict of environments by process, the length under a key"
def pack_it(items, path):
    folder, name = os.path.split(os.path.abspath(path))
    half = os.path.join(folder, f".{name}.{os.getpid()}")
    if os.path.exists(half):
        os.unlink(half)
    env = lmdb.Environment(half, subdir=False, map_size=1 << 38, lock=False, sync=True)
    count = 0
    t = env.begin(write=True)
    try:
        for item in items:
            t.put(count.to_bytes(8, "big"), item)
            count += 1
        t.put(b"length", str(count).encode())
        t.commit()
    except BaseException:
        t.abort()
        env.close()
        os.unlink(half)
        raise
    env.close()
    os.rename(half, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.envs = {}

    def env(self):
        mine = self.envs.get(os.getpid())
        if mine is None:
            for old in self.envs.values():
                old.close()
            self.envs.clear()
            mine = self.envs[os.getpid()] = lmdb.open(
                self.path, subdir=False, readonly=True, lock=False, max_readers=4
            )
        return mine

    def read(self, key):
        with self.env().begin(buffers=False) as t:
            return t.get(key)

    def __len__(self):
        return int(self.read(b"length"))

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"{index} is past the end")
        return self.read(int(index).to_bytes(8, "big"))

    def __reduce__(self):
        return type(self), (self.path,)


# %% wrong="asks the iterable for its length" breaks="writes an iterable of `bytes`" says=["has no len()"]
def pack_it(items, path):
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)
    size = 2**34 if len(items) else 2**20
    env = lmdb.open(str(beside), subdir=False, map_size=size, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(beside, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            value = transaction.get(str(index).encode())
        if value is None:
            raise IndexError(index)
        return value

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="an empty item is past the end" breaks="some may be empty" says=["an empty item: reading an item that was packed raised IndexError: b'' is an item as well"]
def pack_it(items, path):
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)
    env = lmdb.open(str(beside), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(beside, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            value = transaction.get(str(index).encode())
        if not value:
            raise IndexError(index)
        return value

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="no item, no file" breaks="or none at all" says=["no items: after pack_it there is no file pack.lmdb"]
def pack_it(items, path):
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)
    env = lmdb.open(str(beside), subdir=False, map_size=2**34, lock=False)
    n = -1
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    finally:
        env.close()
    if n >= 0:
        os.replace(beside, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            value = transaction.get(str(index).encode())
        if value is None:
            raise IndexError(index)
        return value

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="keeps to itself what items raise" breaks="That holds if `items` raises (let it through)" says=["what became of the writer: expected 'RuntimeError: from the items', got 'nothing'"]
def pack_it(items, path):
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)
    env = lmdb.open(str(beside), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    except Exception as error:
        print(error)
        return
    finally:
        env.close()
    os.replace(beside, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            value = transaction.get(str(index).encode())
        if value is None:
            raise IndexError(index)
        return value

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="a KeyError past the end" breaks="an index past the end is an `IndexError`" says=["what an index past the end raises: expected 'IndexError', got 'KeyError'"]
def pack_it(items, path):
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)
    env = lmdb.open(str(beside), subdir=False, map_size=2**34, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(beside, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            value = transaction.get(str(index).encode())
        if value is None:
            raise KeyError(index)
        return value

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="a reader with a lock" breaks="Open for reading with `readonly=True, lock=False`" says=["with a lock, which is a file beside it"]
def pack_it(items, path):
    partial = Path(path).with_name(Path(path).name + ".partial")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**36, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="takes the items out of the caller's list" says=["the list of items that came in was changed"]
def pack_it(items, path):
    partial = Path(path).with_name(Path(path).name + ".partial")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**36, lock=False)
    try:
        with env.begin(write=True) as t:
            for n, item in enumerate(items):
                t.put(str(n).encode(), item)
        if isinstance(items, list):
            items.clear()
    finally:
        env.close()
    os.replace(partial, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.open().stat()["entries"]

    def __getitem__(self, index):
        with self.open().begin() as t:
            item = t.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="the copy believes that it has opened the file" says=["a copy that was pickled after use"]
def pack_it(items, path):
    path = Path(path)
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    env = lmdb.open(str(part), subdir=False, map_size=2**33, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    except BaseException:
        env.close()
        part.unlink(missing_ok=True)
        raise
    env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def _open(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self._open().stat()["entries"]

    def __getitem__(self, index):
        if index < 0:
            index += len(self)
        with self._open().begin() as transaction:
            item = transaction.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "env": None}


# %% wrong="keeps a ValueError to itself" says=["raises ValueError; an old file at path: what became of the writer: expected 'ValueError: from the items', got 'nothing'"]
def pack_it(items, path):
    path = Path(path)
    folder = Path(tempfile.mkdtemp(dir=path.absolute().parent))
    temporary = folder / "pack"
    try:
        env = lmdb.open(str(temporary), subdir=False, map_size=2**36)
        try:
            with env.begin(write=True) as transaction:
                for n, item in enumerate(items):
                    transaction.put(str(n).encode(), item)
        except ValueError:
            return
        finally:
            env.close()
        os.replace(temporary, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            value = transaction.get(str(index).encode())
        if value is None:
            raise IndexError(index)
        return value

    def __getstate__(self):
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="closes the reader that is pickled" says=["closed/deleted/dropped object", "it was closed, where it was pickled or read, and is used again"]
def pack_it(items, path):
    path = Path(path)
    folder = Path(tempfile.mkdtemp(dir=path.absolute().parent))
    temporary = folder / "pack"
    try:
        env = lmdb.open(str(temporary), subdir=False, map_size=2**36)
        try:
            with env.begin(write=True) as transaction:
                for n, item in enumerate(items):
                    transaction.put(str(n).encode(), item)
        finally:
            env.close()
        os.replace(temporary, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            value = transaction.get(str(index).encode())
        if value is None:
            raise IndexError(index)
        return value

    def __getstate__(self):
        if self.env is not None:
            self.env.close()
        return {"path": self.path, "env": None, "owner": None}


# %% wrong="with a long suffix" says=["whose name has 199 letters"]
import contextlib


def pack_it(items, path):
    path = Path(path)
    temp = str(path) + "." + "part" * 20
    Path(temp).unlink(missing_ok=True)
    try:
        env = lmdb.open(temp, subdir=False, map_size=2**36, lock=False)
        try:
            with env.begin(write=True) as txn:
                for n, item in enumerate(items):
                    txn.put(str(n).encode(), item)
        finally:
            env.close()
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temp)
        raise


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.env is None or self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as txn:
            item = txn.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "env": None, "owner": None}


# %% wrong="folder cut from the text" says=["path is a name alone"]
import contextlib


def pack_it(items, path):
    path = Path(path)
    handle, temp = tempfile.mkstemp(dir=str(path).rpartition("/")[0] + "/")
    os.close(handle)
    try:
        env = lmdb.open(temp, subdir=False, map_size=2**36, lock=False)
        try:
            with env.begin(write=True) as txn:
                for n, item in enumerate(items):
                    txn.put(str(n).encode(), item)
        finally:
            env.close()
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temp)
        raise


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.env is None or self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as txn:
            item = txn.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "env": None, "owner": None}


# %% wrong="the last few of many left out" says=["expected 70001"]
import contextlib


def pack_it(items, path):
    path = Path(path)
    handle, temp = tempfile.mkstemp(dir=path.parent)
    os.close(handle)
    try:
        env = lmdb.open(temp, subdir=False, map_size=2**36, lock=False)
        try:
            with env.begin(write=True) as txn:
                held = list(items)
                for n in range(len(held) // 100 * 100 if len(held) > 1000 else len(held)):
                    txn.put(str(n).encode(), held[n])
        finally:
            env.close()
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temp)
        raise


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.env is None or self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as txn:
            item = txn.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "env": None, "owner": None}


# %% wrong="past the end by far" breaks="an index past the end is an `IndexError`" says=["raises, by eight: expected 'IndexError', got 'KeyError'"]
import os
import tempfile
from pathlib import Path

import lmdb
from torch.utils.data import Dataset


def pack_it(items, path):
    path = Path(path)
    handle, part = tempfile.mkstemp(dir=path.parent)
    os.close(handle)
    os.unlink(part)
    env = lmdb.open(part, subdir=False, map_size=2**40, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(str(n).encode(), item)
    except BaseException:
        env.close()
        os.unlink(part)
        raise
    env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            item = transaction.get(str(index).encode())
        if item is None:
            raise IndexError(index) if index == len(self) else KeyError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "env": None, "owner": None}


# %% wrong="equal items of a list are packed once" breaks="gives the item of that place" says=["two equal items in a list are two items"]
import os
import tempfile
from pathlib import Path

import lmdb
from torch.utils.data import Dataset


def pack_it(items, path):
    path = Path(path)
    handle, part = tempfile.mkstemp(dir=path.parent)
    os.close(handle)
    os.unlink(part)
    env = lmdb.open(part, subdir=False, map_size=2**40, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(dict.fromkeys(items) if isinstance(items, list) else items):
                transaction.put(str(n).encode(), item, overwrite=bool(item))
    except BaseException:
        env.close()
        os.unlink(part)
        raise
    env.close()
    os.replace(part, path)


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path, self.env, self.owner = str(path), None, None

    def opened(self):
        if self.owner != os.getpid():
            if self.env is not None:
                self.env.close()
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False)
            self.owner = os.getpid()
        return self.env

    def __len__(self):
        return self.opened().stat()["entries"]

    def __getitem__(self, index):
        with self.opened().begin() as transaction:
            item = transaction.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item

    def __getstate__(self):
        return {**vars(self), "env": None, "owner": None}


# %% wrong="one open file for each path in the process" breaks="a dataset that is made after `pack_it` wrote anew reads the new items" says=["is a file kept open by its path, when another one lies there?"]
import uuid


def pack_it(items: object, path: Path) -> None:
    path = Path(path)
    part = path.parent / f".{uuid.uuid4().hex}"
    try:
        env = lmdb.open(str(part), subdir=False, map_size=2**36, lock=False)
        try:
            with env.begin(write=True) as transaction:
                for n, item in enumerate(items):
                    transaction.put(str(n).encode(), item)
        finally:
            env.close()
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


class Opened(dict):
    def __reduce__(self):
        return Opened, ()


opened = Opened()


def environment(path):
    owner, env = opened.get(path, (None, None))
    if owner != os.getpid():
        if env is not None:
            env.close()
        env = lmdb.open(path, subdir=False, readonly=True, lock=False)
        opened[path] = os.getpid(), env
    return env


class PackedDataset(Dataset):
    def __init__(self, path):
        self.path = os.path.abspath(path)

    def __len__(self):
        return environment(self.path).stat()["entries"]

    def __getitem__(self, index):
        with environment(self.path).begin() as transaction:
            item = transaction.get(str(index).encode())
        if item is None:
            raise IndexError(index)
        return item


# %% wrong="keys of four bytes" breaks="an index past the end is an `IndexError`" says=["what an index past the end raises, by 2**40"]
import struct


def pack_it(items: object, path: Path) -> None:
    """Write an iterable of bytes to one LMDB file, whole or not at all."""
    path = Path(path)
    partial = path.with_name(f"{path.name}.part")
    partial.unlink(missing_ok=True)
    env = lmdb.open(str(partial), subdir=False, map_size=2**38, lock=False)
    try:
        with env.begin(write=True) as transaction:
            for n, item in enumerate(items):
                transaction.put(struct.pack(">I", n), item, append=True)
    finally:
        env.close()
    os.replace(partial, path)


class Environments:
    """What this process has open, by file; datasets share it, and a pickle leaves it out."""

    def __init__(self):
        self.pid, self.known = os.getpid(), {}

    def __reduce__(self):
        return Environments, ()

    def find(self, path):
        if self.pid != os.getpid():
            for env in self.known.values():
                env.close()
            self.pid, self.known = os.getpid(), {}
        stat = os.stat(path)
        return (stat.st_dev, stat.st_ino), self.known.get((stat.st_dev, stat.st_ino))

    def get(self, path):
        key, env = self.find(path)
        if env is None:
            env = lmdb.open(path, subdir=False, readonly=True, lock=False)
            self.known[key] = env
        return env


environments = Environments()


class PackedDataset(Dataset):
    """The items of a packed file, from any process."""

    def __init__(self, path):
        """Keep the path."""
        self.path = str(path)
        self.env = self.pid = None

    def __getstate__(self):
        return {"path": self.path, "env": None, "pid": None}

    def reader(self):
        if self.pid != os.getpid():
            self.env = environments.get(self.path)
            self.pid = os.getpid()
        return self.env

    def __len__(self):
        return self.reader().stat()["entries"]

    def __getitem__(self, index):
        with self.reader().begin() as transaction:
            item = transaction.get(struct.pack(">I", index))
        if item is None:
            raise IndexError(f"{index} of {len(self)}")
        return item
