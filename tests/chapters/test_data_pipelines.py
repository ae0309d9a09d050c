"""What chapters about data try answers with: it holds the traps it promises and counts right."""

import pickle

import lmdb
import pytest
from PIL import Image

from course_utils.chapters.data_pipelines import damaged_folder, measure_pipeline, through_pickle
from course_utils.chapters.data_pipelines.packs import smaller_maps
from support.mutants import changes_of

SETTINGS = {
    "size": 64, "items": 6, "batch_size": 4, "epochs": 2, "reader": "per item",
    "decode": "each time", "floats": "first", "collate": "grow", "workers": 0, "persistent": False,
}  # fmt: skip


def test_the_damaged_folder_holds_its_traps():
    root = damaged_folder()
    modes = {path.name: Image.open(path).mode for path in root.glob("*/*.[jJ]*")}
    assert modes == {
        "9.jpg": "RGB", "10.jpg": "L", "2.JPG": "CMYK",
        "x.jpeg": "RGB", "z.jpg": "L", "cut.jpg": "RGB",
    }  # fmt: skip
    with pytest.raises(OSError, match="truncated"):
        Image.open(root / "b_square" / "cut.jpg").load()


def test_through_pickle_takes_what_a_notebook_defines():
    namespace = {"__name__": "__main__"}
    exec("class Thing:\n    def __init__(self): self.values = [1, 2]", namespace)
    thing = namespace["Thing"]()
    copy = through_pickle(thing)
    assert copy.values == [1, 2]
    assert copy.values is not thing.values


def test_through_pickle_refuses_a_lambda_and_an_open_file(tmp_path):
    with pytest.raises((pickle.PicklingError, AttributeError)):
        through_pickle({"transform": lambda image: image})
    with open(tmp_path / "x", "w") as file, pytest.raises(TypeError):
        through_pickle([file])


def test_the_counts_of_a_pipeline():
    took, sums = measure_pipeline(SETTINGS)
    numbers = 6 * 2 * 3 * 64 * 64
    small = 3 * 32 * 32 * 4
    assert took["open"] == pytest.approx(12 * 0.4, abs=0.05)
    assert took["decode"] == pytest.approx(12 * 64 * 64 * 2e-5, abs=0.05)
    assert took["transform"] == pytest.approx(numbers * 1e-5, abs=0.05)
    assert took["collate"] == pytest.approx(2 * (1 + 2 + 3 + 4 + 1 + 2) * small * 2e-6, abs=0.05)
    assert took["start"] == 0
    assert len(sums) == 4
    assert sums[:2] == sums[2:]


@pytest.mark.parametrize(
    ("change", "part", "left"),
    [
        ({"reader": "per process"}, "open", 0.4),
        ({"decode": "once"}, "decode", 6 * 64 * 64 * 2e-5),
        ({"workers": 2}, "start", 2 * 2 * 30),
        ({"workers": 2, "persistent": True}, "start", 2 * 30),
    ],
)
def test_a_changed_setting_changes_its_part_and_no_batch(change, part, left):
    took, sums = measure_pipeline(SETTINGS | change)
    assert took[part] == pytest.approx(left, abs=0.05)
    assert sums == measure_pipeline(SETTINGS)[1]


def test_the_map_of_a_file_is_noted_and_divided(tmp_path):
    with smaller_maps(by=1000) as maps:
        pack = lmdb.open(str(tmp_path / "pack"), subdir=False, map_size=2**28, lock=False)
        with pytest.raises(lmdb.MapFullError), pack.begin(write=True) as transaction:
            transaction.put(b"1", bytes(10**6))
        pack.close()
    assert maps.sizes == [2**28]


@pytest.mark.parametrize(
    ("source", "operator", "now"),
    [
        ("f.default_rng([seed, epoch])", "a fixed seed", "f.default_rng(0)"),
        ("f.default_rng([seed, epoch])", "seeds added", "f.default_rng(seed + epoch)"),
        ("f.default_rng([seed, epoch])", "the seed forgotten", "f.default_rng(epoch)"),
        ("f.default_rng([seed, epoch])", "the epoch forgotten", "f.default_rng(seed)"),
        ("info.id", "the worker's id is 0", "0"),
        ("info.num_workers", "num_workers is 1", "1"),
        ("info.seed", "the worker's id as its seed", "info.id"),
        ("rng.permutation(n)", "not shuffled", "np.arange(n)"),
        ("os.getpid()", "the process isn't asked for", "0"),
        ("path.with_name(name)", "written in place", "path"),
    ],
)
def test_an_answer_has_a_slip_of_this_chapter(source, operator, now):
    assert (operator, f"z = {now}") in changes_of("12_data_pipelines", f"z = {source}")
