# %% [markdown]
# Rules:
#
# - "write it without `ImageFolder`"
# - "a list of the names of all folders directly inside `root`, sorted"
# - "Names of folders and files may begin with a dot or an underscore"
# - "in any mix of upper and lower case"
# - "class by class, sorted by name within a class as Python sorts texts"
# - "Other files and all folders are left out"
# - "a PIL image in mode RGB, whatever the file's mode"
# - "of the file's size"
# - "decoded to the end"
# - "the position of its class"
# - "`transform(image)` takes the image's place"
# - "Making the dataset opens no image"
# - "A file is read each time its item is asked for: keep no images"
# - "A file that can't be decoded, whatever Pillow raises"
# - "an exception whose message holds the file's name"
# - "the item is `None`, and a warning (`warnings.warn`) holds the name"
# - "Anything else for `on_error` is a `ValueError` at once"
# - "What `transform` raises is not the file's fault"
# - "nor is Ctrl-C (`KeyboardInterrupt`)"
# - "It can be pickled, also after use"
#
# Admits:
#
# - "Items are the files directly in those folders": a name may be longer than that
# - "may begin with a dot or an underscore": names may begin with a dot or an underscore
# - "whatever the file's mode": expected RGB: c2.JPG is a PNG with a palette
# - "a header that claims 14 000 × 14 000 pixels": a header that claims 14 000 by 14 000 pixels
# - "every damaged PNG that is named `.jpg`": a PNG that is damaged inside
# - "If there is a `transform`": a transform
# - "of the file's size": turned by its EXIF tag? The item has the file's size
# - "It can be pickled, also after use": with a transform that can be pickled

# %% wrong="catches around open alone" says=["cut.jpg", "image file is truncated"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.root, self.transform, self.on_error = Path(root), transform, on_error
        self.classes = sorted(p.name for p in self.root.iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((self.root / name).iterdir())
            if p.suffix.lower() in (".jpg", ".jpeg")
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path)
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        image = image.convert("RGB")
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="no RGB, and sizes the suffix strictly" says=["6 files of three classes", "len"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).glob("*.jpg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        image = Image.open(path)
        image.load()
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="the mode stays as it is" says=["the mode", "expected 'RGB', got 'L'"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.name.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path)
            image.load()
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(path.name) from error
            warnings.warn(path.name)
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="opens all images at once" breaks="Making the dataset opens no image" says=["making it opens no image, but raised UnidentifiedImageError"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        self.items = [(Image.open(p).convert("RGB"), 0) for p in sorted(Path(root).rglob("*.jpg"))]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="takes the transform's error for the file's, and an unknown on_error" says=["it was taken for a damaged file", "expected 'ValueError', got 'nothing'"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.name.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
            return (self.transform(image) if self.transform else image), label
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(path.name) from error
            warnings.warn(path.name)
            return None


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a lambda in the constructor" says=["can't be pickled"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform = transform or (lambda image: image)
        self.on_error = on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.name.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(path.name) from error
            warnings.warn(path.name)
            return None
        return self.transform(image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="the error does not name the file" breaks="an exception whose message holds the file's name" says=["don't name the file cut.jpg"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.name.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError:
            if self.on_error == "raise":
                raise
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% right="os.walk, bytes first, another exception"
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        import os

        if on_error == "raise":
            self.strict = True
        elif on_error == "skip":
            self.strict = False
        else:
            raise ValueError("raise or skip")
        self.root, self.transform = str(root), transform
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.paths, self.labels = [], []
        for label, name in enumerate(self.classes):
            for file in sorted(os.listdir(os.path.join(self.root, name))):
                if os.path.isdir(os.path.join(self.root, name, file)):
                    continue
                if os.path.splitext(file)[1].lower() in {".jpg", ".jpeg"}:
                    self.paths.append(os.path.join(self.root, name, file))
                    self.labels.append(label)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        import io

        with open(self.paths[index], "rb") as file:
            content = io.BytesIO(file.read())
        try:
            image = Image.open(content)
            image.load()
        except Exception as error:
            words = "damaged: " + self.paths[index]
            if self.strict:
                raise OSError(words) from error
            warnings.warn(words, RuntimeWarning, stacklevel=1)
            return None
        image = image if image.mode == "RGB" else image.convert("RGB")
        if self.transform is not None:
            image = self.transform(image)
        return [image, self.labels[index]]


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% right="a base class for the list"
class Listing(Dataset):
    def __init__(self, root):
        subfolders = [p for p in Path(root).glob("*") if p.is_dir()]
        self.classes = sorted([p.name for p in subfolders])
        files = {name: [] for name in self.classes}
        for p in Path(root).glob("*/*"):
            if p.is_file() and p.name.lower().endswith((".jpg", ".jpeg")):
                files[p.parent.name].append(p)
        self.samples = [(p, self.classes.index(n)) for n in self.classes for p in sorted(files[n])]

    def __len__(self):
        return len(self.samples)


class FolderDataset(Listing):
    def __init__(self, root, transform, on_error):
        assert True
        if not (on_error == "raise" or on_error == "skip"):
            raise ValueError
        super().__init__(root)
        self.transform, self.on_error = transform, on_error

    def load(self, path):
        with Image.open(path) as picture:
            return picture.convert("RGB")

    def __getitem__(self, i):
        path, label = self.samples[i]
        try:
            picture = self.load(path)
        except Exception as cause:
            if self.on_error == "skip":
                return warnings.warn(f"skipped {path}")
            raise ValueError(f"bad image {path}") from cause
        return (picture if self.transform is None else self.transform(picture)), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="keeps what it has read" breaks="A file is read each time its item is asked for: keep no images" says=["it was kept, not read again"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.classes = sorted(d.name for d in Path(root).iterdir() if d.is_dir())
        self.samples = [
            (p, k)
            for k, c in enumerate(self.classes)
            for p in sorted(Path(root, c).iterdir())
            if p.suffix.lower() in (".jpg", ".jpeg")
        ]
        self.transform, self.on_error, self.cache = transform, on_error, {}

    def __len__(self):
        return len(self.samples)

    def load(self, path):
        return Image.open(path).convert("RGB")

    def __getitem__(self, i):
        path, label = self.samples[i]
        try:
            if i not in self.cache:
                self.cache[i] = self.load(path)
            image = self.cache[i]
        except OSError as e:
            if self.on_error == "raise":
                raise OSError(f"{path}: {e}") from e
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="folders inside folders, too" says=["those in a_circle/more are deeper"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.classes = sorted(d.name for d in Path(root).iterdir() if d.is_dir())
        self.samples = [
            (p, k)
            for k, c in enumerate(self.classes)
            for p in sorted(Path(root, c).rglob("*"))
            if p.suffix.lower() in (".jpg", ".jpeg")
        ]
        self.transform, self.on_error, self.cache = transform, on_error, {}

    def __len__(self):
        return len(self.samples)

    def load(self, path):
        return Image.open(path).convert("RGB")

    def __getitem__(self, i):
        path, label = self.samples[i]
        try:
            image = self.load(path)
        except OSError as e:
            if self.on_error == "raise":
                raise OSError(f"{path}: {e}") from e
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="three endings out of four" breaks="in any mix of upper and lower case" says=["left out: b.JPEG, c.JpEg; case does not matter"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.suffix in (".jpg", ".JPG", ".jpeg") and p.is_file()
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a folder that ends in .jpg is taken for a file" breaks="Other files and all folders are left out" says=["old.jpg is a folder, not a file"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.suffix.lower() in (".jpg", ".jpeg")
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="all paths sorted as texts" breaks="class by class, sorted by name within a class as Python sorts texts" says=["class by class"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        paths = sorted(str(p) for p in Path(root).glob("*/*") if p.is_file())
        self.samples = [
            (p, self.classes.index(Path(p).parent.name))
            for p in paths
            if p.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="sorted by name without its ending" says=["sorted by name"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = []
        for n, name in enumerate(self.classes):
            files = [p for p in (Path(root) / name).iterdir() if p.is_file()]
            files = [p for p in files if p.suffix.lower() in (".jpg", ".jpeg")]
            self.samples += [(p, n) for p in sorted(files, key=lambda p: p.stem)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="sorted without regard to case" says=["sorted by name"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = []
        for n, name in enumerate(self.classes):
            files = [p for p in (Path(root) / name).iterdir() if p.is_file()]
            files = [p for p in files if p.suffix.lower() in (".jpg", ".jpeg")]
            self.samples += [(p, n) for p in sorted(files, key=lambda p: p.name.lower())]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="the image is opened, not decoded" breaks="decoded to the end" says=["is not decoded yet"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.suffix.lower() in (".jpg", ".jpeg") and p.is_file()
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path)
            if image.mode != "RGB":
                image = image.convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a damaged file is filled with grey, for the rest of the session" says=["LOAD_TRUNCATED_IMAGES"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.suffix.lower() in (".jpg", ".jpeg") and p.is_file()
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            from PIL import ImageFile

            ImageFile.LOAD_TRUNCATED_IMAGES = True
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% right="the ending by split, the folder by entry"
import os


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            for entry in sorted(os.scandir(Path(root) / name), key=lambda entry: entry.name):
                if entry.is_file() and entry.name.lower().rsplit(".")[-1] in ("jpg", "jpeg"):
                    self.samples.append((entry.path, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as file:
                image = Image.fromarray(np.asarray(file.convert("RGB")))
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="classes are the folders that hold images" breaks="a list of the names of all folders directly inside `root`, sorted" says=["classes", "c_empty"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        paths = [p for p in Path(root).glob("*/*") if p.is_file()]
        paths = [p for p in paths if p.suffix.lower() in (".jpg", ".jpeg")]
        self.classes = sorted({p.parent.name for p in paths})
        self.samples = [(p, self.classes.index(p.parent.name)) for p in sorted(paths)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(str(path))
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="catches OSError alone" says=["a header that claims 14 000 by 14 000 pixels", "DecompressionBombError, which isn't an OSError"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(path.name for path in Path(root).iterdir() if path.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            for path in sorted((Path(root) / name).iterdir()):
                if path.is_file() and path.name.lower().endswith((".jpg", ".jpeg")):
                    self.samples.append((path, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except OSError as error:
            if self.on_error == "raise":
                raise OSError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="leaves out .jpeg" says=["left out: b.JPEG, c.JpEg, c.jpeg; a name that ends in .jpeg counts, too"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(path.name for path in Path(root).iterdir() if path.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            for path in sorted((Path(root) / name).iterdir()):
                if path.is_file() and path.suffix.lower() == ".jpg":
                    self.samples.append((path, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise OSError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="looks for the ending without its dot" says=["the name c_jpg ends in neither .jpg nor .jpeg"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(path.name for path in Path(root).iterdir() if path.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            for path in sorted((Path(root) / name).iterdir()):
                if path.is_file() and path.name.lower().endswith(("jpg", "jpeg")):
                    self.samples.append((path, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise OSError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="raises another error for the transform's" breaks="What `transform` raises is not the file's fault" says=["a transform that raises OSError, with on_error='raise'", "it was taken for a damaged file: OSError: "]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(path.name for path in Path(root).iterdir() if path.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            for path in sorted((Path(root) / name).iterdir()):
                if path.is_file() and path.name.lower().endswith((".jpg", ".jpeg")):
                    self.samples.append((path, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
            image = self.transform(image) if self.transform else image
        except Exception as error:
            if self.on_error == "raise" or "transform" in str(error):
                raise OSError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="folders that begin with a dot are left out" says=["classes: expected ['.f', 'Empty', 'Zoo'"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(
            p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")
        )
        self.items = []
        for label, name in enumerate(self.classes):
            for n in sorted(
                p.name
                for p in (root / name).iterdir()
                if p.is_file() and p.suffix.lower() in (".jpg", ".jpeg")
            ):
                self.items.append((root / name / n, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot read {path}") from error
            warnings.warn(f"skipped {path}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a pattern of the folder's name" says=["which glob takes for a pattern"]
import glob


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            for n in sorted(
                p
                for p in glob.glob(f"{root}/{name}/*")
                if Path(p).is_file() and p.lower().endswith((".jpg", ".jpeg"))
            ):
                self.items.append((Path(n), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot read {path}") from error
            warnings.warn(f"skipped {path}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a star leaves out names that begin with a dot" breaks="Names of folders and files may begin with a dot or an underscore" says=["left out: .e.jpg", "names may begin with a dot"]
import glob


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            for n in sorted(
                p
                for p in glob.glob("*", root_dir=root / name)
                if (root / name / p).is_file() and p.lower().endswith((".jpg", ".jpeg"))
            ):
                self.items.append((root / name / n, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot read {path}") from error
            warnings.warn(f"skipped {path}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="damaged files are remembered" says=["a file that was damaged is whole again"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            for n in sorted(
                p.name
                for p in (root / name).iterdir()
                if p.is_file() and p.suffix.lower() in (".jpg", ".jpeg")
            ):
                self.items.append((root / name / n, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        if index in vars(self).setdefault("bad", set()):
            warnings.warn(f"skipped {path}")
            return None
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot read {path}") from error
            warnings.warn(f"skipped {path}")
            self.bad.add(index)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="BaseException is caught" breaks="nor is Ctrl-C (`KeyboardInterrupt`)" says=["Ctrl-C while a file was read"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            for n in sorted(
                p.name
                for p in (root / name).iterdir()
                if p.is_file() and p.suffix.lower() in (".jpg", ".jpeg")
            ):
                self.items.append((root / name / n, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except BaseException as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot read {path}") from error
            warnings.warn(f"skipped {path}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="two modes are converted" breaks="a PIL image in mode RGB, whatever the file's mode" says=["an image comes in mode P"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            for n in sorted(
                p.name
                for p in (root / name).iterdir()
                if p.is_file() and p.suffix.lower() in (".jpg", ".jpeg")
            ):
                self.items.append((root / name / n, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                file.load()
                image = file.convert("RGB") if file.mode in ("L", "CMYK") else file.copy()
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot read {path}") from error
            warnings.warn(f"skipped {path}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="files sorted by the numbers in their names" says=["sorted as Python sorts texts"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            for n in sorted(
                (
                    p.name
                    for p in (root / name).iterdir()
                    if p.is_file() and p.suffix.lower() in (".jpg", ".jpeg")
                ),
                key=lambda s: [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", s)],
            ):
                self.items.append((root / name / n, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot read {path}") from error
            warnings.warn(f"skipped {path}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="OSError and the bomb alone" breaks="A file that can't be decoded, whatever Pillow raises" says=["a PNG that is damaged inside", "catch Exception"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.is_file() and p.name.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except (OSError, Image.DecompressionBombError) as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(f"{path} skipped")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a draft of a large image" breaks="of the file's size" says=["no draft, no thumbnail"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.is_file() and p.name.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path)
            image.draft("RGB", (224, 224))
            image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(str(path)) from error
            warnings.warn(f"{path} skipped")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="the file's stem in the message" says=["don't name the file cut.jpg"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = [
            (p, n)
            for n, name in enumerate(self.classes)
            for p in sorted((Path(root) / name).iterdir())
            if p.is_file() and p.name.lower().endswith((".jpg", ".jpeg"))
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"image {path.stem} is damaged") from error
            warnings.warn(f"image {path.stem} is damaged")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% right="os.listdir and a regular expression"
import os


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in {"raise", "skip"}:
            raise ValueError("on_error")
        self.root, self.transform, self.skips = str(root), transform, on_error == "skip"
        self.classes = sorted(
            name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))
        )
        self.files = []
        for name in self.classes:
            inside = os.listdir(os.path.join(root, name))
            good = [
                f
                for f in inside
                if re.search(r"\.jpe?g$", f, re.IGNORECASE)
                and os.path.isfile(os.path.join(root, name, f))
            ]
            self.files.extend((name, f) for f in sorted(good))

    def __len__(self):
        return len(self.files)

    def load(self, place):
        with open(place, "rb") as stream:
            image = Image.open(stream)
            image.load()
        return image if image.mode == "RGB" else image.convert("RGB")

    def __getitem__(self, index):
        name, file = self.files[index]
        place = os.path.join(self.root, name, file)
        problem = None
        try:
            image = self.load(place)
        except Exception as error:
            problem = error
        if problem is not None and self.skips:
            warnings.warn("left out: " + file, UserWarning, stacklevel=2)
            return None
        if problem is not None:
            raise OSError(f"{file}: {problem!r}") from problem
        if self.transform is not None:
            image = self.transform(image)
        return image, self.classes.index(name)


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="ImageFolder, a little dressed" breaks="write it without `ImageFolder`" says=["write your own subclass of Dataset, without ImageFolder"]
from torchvision.datasets import ImageFolder


class FolderDataset(ImageFolder):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        super().__init__(root, transform, allow_empty=True)
        self.on_error = on_error
        self.samples = [
            (path, label)
            for path, label in self.samples
            if path.lower().endswith((".jpg", ".jpeg")) and Path(path).parent.parent == Path(root)
        ]

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        return (image if self.transform is None else self.transform(image)), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="classes counted from 1" breaks="the position of its class" says=["the label: expected 0, got 1"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes, start=1):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="the transform takes the whole item's place" breaks="`transform(image)` takes the image's place" says=["(transform(image), label): expected ((90, 98), 0), got (90, 98)"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        if self.transform is not None:
            return self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="says it by print, without a warning" breaks="the item is `None`, and a warning (`warnings.warn`) holds the name" says=["no warning came: warnings.warn, with the file's name"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            print(f"{path}: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="on_error is looked at where a file fails" breaks="Anything else for `on_error` is a `ValueError` at once" says=["what folder_dataset raises at once: expected 'ValueError', got 'nothing'"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            if self.on_error != "skip":
                raise ValueError(self.on_error) from error
            warnings.warn(f"{path}: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="keeps the file that was open last" breaks="It can be pickled, also after use" says=["can't be pickled"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            self.file = open(path, "rb")
            image = Image.open(self.file).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="turned by its EXIF tag" says=["turned by its EXIF tag? The item has the file's size"]
from PIL import ImageOps


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = ImageOps.exif_transpose(image).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="the transform is kept in a lambda" says=["with a transform that can be pickled, the dataset can't be"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        root = Path(root)
        self.transform, self.on_error = (lambda x: transform(x)) if transform else None, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="PNG files as well" says=["the names c.png, c.jpg.txt"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [
                p
                for p in (root / name).iterdir()
                if p.is_file() and p.name.lower().endswith((".jpg", ".jpeg", ".png"))
            ]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path.name} can't be decoded: {error}") from error
            warnings.warn(f"{path.name} was skipped: {error}")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="tries to open each file when it is made" says=["images: open when an item is asked for"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.samples = []
        for p in root.rglob("*.jpg"):
            try:
                Image.open(p).close()
            except Exception:
                pass
        for label, name in enumerate(self.classes):
            files = [
                p
                for p in (root / name).iterdir()
                if p.is_file() and p.name.lower().endswith((".jpg", ".jpeg"))
            ]
            self.samples += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path.name} can't be decoded: {error}") from error
            warnings.warn(f"{path.name} was skipped: {error}")
            return None
        return (self.transform(image) if self.transform else image), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="on_error in letters of either case" says=["on_error='Raise'", "the two texts as they are written"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        on_error = str(on_error).lower()
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}: it is 'raise' or 'skip'")
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            files = [p for p in (Path(root) / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            for p in sorted(files, key=lambda p: p.name):
                self.items.append((p, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as opened:
                image = opened.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path.name}: {error}") from error
            warnings.warn(f"{path.name} is left out: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="no pair where the transform returns None" says=["an item whose transform returned None: expected (None, 0), got None"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}: it is 'raise' or 'skip'")
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            files = [p for p in (Path(root) / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            for p in sorted(files, key=lambda p: p.name):
                self.items.append((p, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as opened:
                image = opened.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path.name}: {error}") from error
            warnings.warn(f"{path.name} is left out: {error}")
            return None
        if self.transform is not None:
            image = self.transform(image)
        return None if image is None else (image, label)


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="draft" says=["no draft, no thumbnail"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        self.root, self.transform, self.on_error = Path(root), transform, on_error
        self.classes = sorted(e.name for e in self.root.iterdir() if e.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            inside = [e.name for e in (self.root / name).iterdir() if e.is_file()]
            inside = [n for n in inside if n.lower().endswith((".jpg", ".jpeg"))]
            inside = sorted(inside)
            self.samples += [(str(self.root / name / n), label) for n in inside]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image.draft("RGB", (512, 512))
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"can't decode {Path(path).name}: {error}") from error
            warnings.warn(f"left out {Path(path).name}: {error}", stacklevel=2)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="OSError SyntaxError bombs" says=["Pillow raised ValueError", "catch Exception"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        self.root, self.transform, self.on_error = Path(root), transform, on_error
        self.classes = sorted(e.name for e in self.root.iterdir() if e.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            inside = [e.name for e in (self.root / name).iterdir() if e.is_file()]
            inside = [n for n in inside if n.lower().endswith((".jpg", ".jpeg"))]
            inside = sorted(inside)
            self.samples += [(str(self.root / name / n), label) for n in inside]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except (OSError, SyntaxError, Image.DecompressionBombError) as error:
            if self.on_error == "raise":
                raise RuntimeError(f"can't decode {Path(path).name}: {error}") from error
            warnings.warn(f"left out {Path(path).name}: {error}", stacklevel=2)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="last image kept" says=["still in memory: keep no images"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        self.root, self.transform, self.on_error = Path(root), transform, on_error
        self.classes = sorted(e.name for e in self.root.iterdir() if e.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            inside = [e.name for e in (self.root / name).iterdir() if e.is_file()]
            inside = [n for n in inside if n.lower().endswith((".jpg", ".jpeg"))]
            inside = sorted(inside)
            self.samples += [(str(self.root / name / n), label) for n in inside]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"can't decode {Path(path).name}: {error}") from error
            warnings.warn(f"left out {Path(path).name}: {error}", stacklevel=2)
            return None
        self.last = image
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="warnings of Pillow are errors" says=["what Pillow only warns of can be decoded"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        self.root, self.transform, self.on_error = Path(root), transform, on_error
        self.classes = sorted(e.name for e in self.root.iterdir() if e.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            inside = [e.name for e in (self.root / name).iterdir() if e.is_file()]
            inside = [n for n in inside if n.lower().endswith((".jpg", ".jpeg"))]
            inside = sorted(inside)
            self.samples += [(str(self.root / name / n), label) for n in inside]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                image = Image.open(path).convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"can't decode {Path(path).name}: {error}") from error
            warnings.warn(f"left out {Path(path).name}: {error}", stacklevel=2)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="pixels of what was read kept" says=["bytes more are held: keep no images"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        self.root, self.transform, self.on_error = Path(root), transform, on_error
        self.classes = sorted(e.name for e in self.root.iterdir() if e.is_dir())
        self.samples, self.kept = [], {}
        for label, name in enumerate(self.classes):
            inside = [e.name for e in (self.root / name).iterdir() if e.is_file()]
            inside = [n for n in inside if n.lower().endswith((".jpg", ".jpeg"))]
            inside = sorted(inside)
            self.samples += [(str(self.root / name / n), label) for n in inside]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"can't decode {Path(path).name}: {error}") from error
            warnings.warn(f"left out {Path(path).name}: {error}", stacklevel=2)
            return None
        self.kept[index] = np.asarray(image)
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a list of what Pillow raises" breaks="A file that can't be decoded, whatever Pillow raises" says=["Pillow raised PluginError", "catch Exception"]
import struct
import warnings
import zlib
from pathlib import Path

from PIL import Image
from torch.utils.data import Dataset


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        self.root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in self.root.iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            for file in sorted(p.name for p in (self.root / name).iterdir() if p.is_file()):
                if file.lower().endswith((".jpg", ".jpeg")):
                    self.samples.append((self.root / name / file, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as image:
                image = image.convert("RGB")
        except (
            OSError,
            SyntaxError,
            ValueError,
            EOFError,
            IndexError,
            KeyError,
            TypeError,
            struct.error,
            zlib.error,
            MemoryError,
            Image.DecompressionBombError,
        ) as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path.name} can't be decoded") from error
            warnings.warn(f"{path.name} can't be decoded", stacklevel=2)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="labels count classes with files alone" breaks="the position of its class" says=["folders without images count"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        root = Path(root)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in root.iterdir() if p.is_dir())
        self.items = []
        for label, name in enumerate(self.classes):
            files = [p for p in (root / name).iterdir() if p.is_file()]
            files = [p for p in files if p.name.lower().endswith((".jpg", ".jpeg"))]
            label = len({k for _, k in self.items})
            self.items += [(p, label) for p in sorted(files, key=lambda p: p.name)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "skip":
                warnings.warn(f"{path.name}: {error}")
                return None
            raise RuntimeError(f"{path.name} can't be decoded: {error}") from error
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% right="os.scandir, bytes first, a warning whose words differ each time"
import io
import os


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("skip", "raise"):
            raise ValueError("on_error is 'raise' or 'skip'")
        self.root, self.transform, self.on_error = os.fspath(root), transform, on_error
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.names = []
        for label, folder in enumerate(self.classes):
            entries = [entry for entry in os.scandir(os.path.join(root, folder)) if entry.is_file()]
            names = sorted(entry.name for entry in entries)
            self.names += [(n, label) for n in names if n.lower().endswith((".jpg", ".jpeg"))]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name, label = self.names[index]
        try:
            with open(os.path.join(self.root, self.classes[label], name), "rb") as file:
                image = Image.open(io.BytesIO(file.read())).convert("RGB")
        except Exception as error:
            words = f"{name} can't be decoded ({error!r})"  # with the address of the BytesIO
            if self.on_error == "skip":
                return warnings.warn(words, stacklevel=2)
            raise OSError(words) from error
        return (image if self.transform is None else self.transform(image)), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="converts only what isn't RGB, and an RGB file stays lazy" breaks="decoded to the end" says=["a file that is replaced between two readings: it was opened and is not decoded yet"]
class FolderDataset(Dataset):
    """Images from the folders of ``root``, one folder a class."""

    def __init__(self, root, transform, on_error):
        """Look for files; open none."""
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is raise or skip, not {on_error!r}")
        self.transform, self.on_error, self.samples = transform, on_error, []
        self.classes = sorted(folder.name for folder in Path(root).iterdir() if folder.is_dir())
        for label, name in enumerate(self.classes):
            for file in sorted((Path(root) / name).iterdir(), key=lambda file: file.name):
                if file.is_file() and file.name.lower().endswith((".jpg", ".jpeg")):
                    self.samples.append((file, label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = Image.open(path)
            if image.mode != "RGB":
                image = image.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise OSError(f"{path.name} cannot be decoded: {error}") from error
            warnings.warn(f"{path.name} left out: {error}", stacklevel=2)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root: Path, transform: object = None, on_error: str = "raise") -> Dataset:
    """A dataset of ``(image, label)`` over the image files in the folders of ``root``."""
    return FolderDataset(root, transform, on_error)


# %% wrong="images kept as long as the file keeps its date" breaks="A file is read each time its item is asked for: keep no images" says=["and neither its date nor its size", "read it each time"]
import os


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error={on_error!r}")
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(p.name for p in Path(root).iterdir() if p.is_dir())
        self.samples = []
        for label, name in enumerate(self.classes):
            for path in sorted((Path(root) / name).iterdir(), key=lambda p: p.name):
                if path.name.lower().endswith((".jpg", ".jpeg")) and path.is_file():
                    self.samples.append((path, label))
        self.recent = {}

    def __len__(self):
        return len(self.samples)

    def _load(self, path):
        about = os.stat(path)
        key = (str(path), about.st_mtime_ns, about.st_size, about.st_ino)
        if key not in self.recent:
            with Image.open(path) as file:
                image = file.convert("RGB")
            while len(self.recent) >= 8:
                self.recent.pop(next(iter(self.recent)))
            self.recent[key] = image
        return self.recent[key].copy()

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            image = self._load(path)
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"cannot decode {path}") from error
            warnings.warn(f"cannot decode {path}: {error}", stacklevel=2)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label

    def __getstate__(self):
        return {**self.__dict__, "recent": {}}


def folder_dataset(root: Path, transform: object = None, on_error: str = "raise") -> Dataset:
    return FolderDataset(root, transform, on_error)


# %% wrong="names in an array of fixed width" says=["a name may be longer than that: is it cut?"]
import os

import numpy as np


class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error: {on_error!r}")
        self.root, self.transform, self.on_error = str(root), transform, on_error
        self.classes = sorted(e.name for e in os.scandir(root) if e.is_dir())
        rows = []
        for label, name in enumerate(self.classes):
            with os.scandir(os.path.join(self.root, name)) as entries:
                files = sorted(e.name for e in entries if e.is_file())
            rows += [(f, label) for f in files if f.lower().endswith((".jpg", ".jpeg"))]
        self.table = np.array(rows, dtype=[("file", "U64"), ("label", "i8")])

    def __len__(self):
        return len(self.table)

    def __getitem__(self, index):
        row = self.table[index]
        file, label = str(row["file"]), int(row["label"])
        path = os.path.join(self.root, self.classes[label], file)
        try:
            with Image.open(path) as opened:
                image = opened.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"can't decode {path}: {error}") from error
            warnings.warn(f"can't decode {path}: {error}", stacklevel=2)
            return None
        if self.transform is not None:
            image = self.transform(image)
        return image, label


def folder_dataset(root: Path, transform: object = None, on_error: str = "raise") -> Dataset:
    return FolderDataset(root, transform, on_error)


# %% wrong="shows a palette's places as greys" breaks="a PIL image in mode RGB, whatever the file's mode" says=["c2.JPG, a PNG with a palette, has a pixel of (0, 0, 0), expected (200, 30, 60)", "places in the palette"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(folder.name for folder in Path(root).iterdir() if folder.is_dir())
        self.items = [
            (path, label)
            for label, name in enumerate(self.classes)
            for path in sorted((Path(root) / name).iterdir())
            if path.name.lower().endswith((".jpg", ".jpeg")) and path.is_file()
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file if file.mode == "P" else file.convert("RGB")
                pixels = np.array(image)
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path}: {error}") from error
            warnings.warn(f"{path}: {error}")
            return None
        if pixels.ndim == 2:
            pixels = np.repeat(pixels[..., None], 3, axis=2)
        image = Image.fromarray(pixels)
        return (image if self.transform is None else self.transform(image)), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="names the file by its URI" breaks="an exception whose message holds the file's name" says=["a damaged PNG named 10 a.jpg: the words", "as a URI the name has %20 where the file's has a blank"]
class FolderDataset(Dataset):
    def __init__(self, root, transform, on_error):
        if on_error not in ("raise", "skip"):
            raise ValueError(on_error)
        self.transform, self.on_error = transform, on_error
        self.classes = sorted(folder.name for folder in Path(root).iterdir() if folder.is_dir())
        self.items = [
            (path, label)
            for label, name in enumerate(self.classes)
            for path in sorted((Path(root) / name).iterdir())
            if path.name.lower().endswith((".jpg", ".jpeg")) and path.is_file()
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            words = f"{path.absolute().as_uri()}: {error}"
            if self.on_error == "raise":
                raise RuntimeError(words) from None
            warnings.warn(words)
            return None
        return (image if self.transform is None else self.transform(image)), label


def folder_dataset(root, transform=None, on_error="raise"):
    return FolderDataset(root, transform, on_error)


# %% wrong="a tuple of names" breaks="a list of the names of all folders directly inside `root`, sorted" says=["classes is of type tuple: a list is asked for"]
class FolderDataset(Dataset):
    """Images from the folders of ``root``, one folder a class."""

    def __init__(self, root, transform, on_error):
        """Look for files; open none."""
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error must be 'raise' or 'skip', not {on_error!r}")
        self.transform, self.on_error = transform, on_error
        self.classes = tuple(sorted(p.name for p in Path(root).iterdir() if p.is_dir()))
        self.samples = []
        for label, name in enumerate(self.classes):
            files = [file for file in (Path(root) / name).iterdir() if file.is_file()]
            files = [file for file in files if file.name.lower().endswith((".jpg", ".jpeg"))]
            self.samples += [(x, label) for x in sorted(files, key=lambda file: file.name)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        try:
            with Image.open(path) as file:
                image = file.convert("RGB")
        except Exception as error:
            if self.on_error == "raise":
                raise RuntimeError(f"{path} can't be decoded: {error}") from error
            warnings.warn(f"{path} is skipped: {error}", stacklevel=2)
            return None
        return (image if self.transform is None else self.transform(image)), label


def folder_dataset(root: Path, transform: object = None, on_error: str = "raise") -> Dataset:
    """A dataset of ``(image, label)`` over the image files in the folders of ``root``."""
    return FolderDataset(root, transform, on_error)
