"""Calls of ``fit`` on one file, and what could be seen of them."""

import io
import os
import signal
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
import torch.distributed as dist
import torch.nn as nn
from expect import NOTHING
from ranks import run_ranks

from shapefinder.train import fit


class Net(nn.Module):
    """With dropout, a layer that is frozen, and three buffers."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 5), nn.Dropout(p), nn.Tanh(), nn.Linear(5, 1))
        self.fixed = nn.Linear(3, 1).requires_grad_(False)
        self.register_buffer("shift", torch.randn(1))
        self.register_buffer("count", torch.randint(1000, ()))
        self.register_buffer("unsaved", torch.randn(2), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert all(part.training for part in self.modules()), (
            "the model, or a part of it, is in evaluation mode during training: call its train() "
            "at each step, whatever mode `loss` left it in"
        )
        return self.body(x) + self.fixed(x) + self.shift


class Run:
    """One call of ``fit`` after the other on the same file, and what could be seen."""

    def __init__(self, folder, p=0.5, plain=False):
        self.file, self.p, self.plain = Path(folder) / "run.pt", p, plain
        self.model, self.seen, self.at_step, self.kept, self.as_text = None, [], None, {}, False
        self.dtype = torch.float32

    def batch(self, step, rank, world_size):
        self.seen.append((step, rank, world_size, torch.initial_seed()))
        try:
            # Alone: beside another rank that writes, what is read here is a matter of luck.
            here = world_size == 1 and self.file.exists()
            self.kept[step] = torch.load(self.file)["step"] if here else 0
        except (RuntimeError, EOFError):
            raise AssertionError(
                "a file was read that was half written: write beside it, then replace"
            ) from None
        if self.at_step:
            self.at_step(step, rank)
        generator = torch.Generator().manual_seed(step)
        x = torch.randn(12, 3, generator=generator, dtype=self.dtype)[rank::world_size]
        return x, x.sum(1, keepdim=True)

    def net(self):
        """Its weights in float64 are such that float32 can't hold them."""
        made = Net(self.p).to(self.dtype)
        for value in made.parameters() if self.dtype == torch.float64 else ():
            value.data /= 3
        return made

    def __call__(self, steps, seed=0, every=50, at_step=None):
        torch.manual_seed(seed)
        self.model, self.seen, self.at_step, self.kept = self.net(), [], at_step, {}
        torch.manual_seed(99)
        kind = torch.optim.SGD if self.plain else torch.optim.AdamW  # which makes weights decay
        groups = [{"params": [parameter]} for parameter in self.model.parameters()]
        optimizer = kind(groups, lr=0.05)
        self.model.eval()
        self.model.body[0].weight.grad = torch.full((5, 3), 1e3, dtype=self.dtype)  # old
        self.model.fixed.weight.grad = torch.full((1, 3), 1e3, dtype=self.dtype)  # too

        def loss(output, y):
            assert output.requires_grad, "loss(model(x), y): what the model gives comes first"
            # As one that looks at the model may do, or at a part of it.
            (self.model.body if len(self.seen) % 2 else self.model).eval()
            return nn.functional.mse_loss(output, y)

        file = str(self.file) if self.as_text else self.file
        try:
            done = fit(self.model, optimizer, loss, self.batch, steps, file, every)
        except (SystemExit, KeyboardInterrupt) as error:
            if not at_step and isinstance(error, KeyboardInterrupt):
                raise  # no signal was sent here: somebody at the keyboard stopped the tests
            raise AssertionError(
                "SIGTERM ended the program in the middle of a step: the handler notes it, and the "
                "loop looks at the note when a step is complete"
            ) from None
        except (AttributeError, TypeError) as error:
            if "NoneType" not in str(error):
                raise
            raise AssertionError(
                f"a parameter has no gradient, its `grad` is None: some are frozen. {error}"
            ) from None
        assert done is not None, NOTHING
        assert type(done) is int, f"fit returned a {type(done).__name__}, not an int"
        frozen = not self.model.fixed.weight.requires_grad
        assert frozen, "a parameter was frozen, and isn't any more: leave requires_grad as it is"
        return done

    def alone(self, *arguments, **named):
        """The same on a rank of a group, of which rank 0 alone may save."""
        saves = {"torch.save": torch.save, "os.replace": os.replace, "os.rename": os.rename}
        with ExitStack() as stack:
            for name, save in saves.items():
                stack.enter_context(patch(name, partial(on_rank_0, name, save)))
            return self(*arguments, **named)

    def weights(self):
        """And the buffer, last."""
        values = *self.model.parameters(), self.model.shift
        return torch.cat([value.detach().flatten() for value in values])

    def buffers(self):
        """Those that no step changes; the last one is not in the file."""
        return [self.model.count.item(), *self.model.unsaved.tolist()]

    def step_in_file(self):
        assert self.file.exists(), "no file was written at the end"
        return torch.load(self.file)["step"]


def to_memory(place=None, _use_new_zipfile_serialization=True, **others):
    """Whether torch.save writes no file: so tensors are pickled, as `all_gather_object` does."""
    return isinstance(place, io.BytesIO) or not _use_new_zipfile_serialization


def write_half(place):
    """What is there of a save that dies."""
    (place.write if hasattr(place, "write") else Path(place).write_bytes)(b"half")


def raised_by(call):
    """What a call raises; nothing, if it returns."""
    try:
        call()
    except AssertionError:
        raise
    except Exception as error:
        return error
    return None


def error_of(run, **named):
    """What a call raises, and the handler of SIGTERM afterwards."""
    mine, raised = signal.signal(signal.SIGTERM, signal.SIG_IGN), None
    try:
        run(2, **named)
    except Exception as error:
        raised = error
    return raised, signal.signal(signal.SIGTERM, mine)


def on_rank_0(name, save, *arguments, **named):
    if name == "torch.save" and to_memory(*arguments[1:2], **named):
        return save(*arguments, **named)
    rank = dist.get_rank()
    mine = threading.current_thread() is threading.main_thread()  # a launcher's thread may write
    assert rank == 0 or not mine, f"rank {rank} called {name}: rank 0 alone saves"
    return save(*arguments, **named)


@contextmanager
def a_run(p=0.5, plain=False):
    with tempfile.TemporaryDirectory() as folder:
        yield Run(folder, p, plain)


def terminate(step, rank, when=(2, 0)):
    if (step, rank) == when:
        signal.raise_signal(signal.SIGTERM)


def on_two_ranks():
    """Straight to 5; broken by a SIGTERM to rank 1 alone, then to 5; and what rank 1 wrote."""
    with tempfile.TemporaryDirectory() as folder:

        def work(rank):
            save = torch.save

            def watched(state, place, *more, **others):
                pickled = to_memory(**others)
                time.sleep(0 if pickled else 0.3)  # a slow disk: the other rank has to wait for it
                return save(state, place, *more, **others)

            straight, broken = Run(Path(folder) / "a"), Run(Path(folder) / "b")
            with patch("torch.save", watched):
                done = straight.alone(5, seed=rank)
                at_step = partial(terminate, when=(2, 1))
                stopped = broken.alone(5, seed=rank, at_step=at_step)
                kept = torch.load(broken.file)["step"] if broken.file.exists() else None
                ranks = [None, None]
                dist.all_gather_object(ranks, kept)
                again = broken.alone(5, seed=5 + rank) if None not in ranks else None
            seen = [one[:3] for one in straight.seen]
            seeds = [one[3] for one in straight.seen]
            weights = straight.weights(), broken.weights()
            buffers = straight.buffers(), broken.buffers()
            return done, stopped, kept, again, seen, seeds, weights, *buffers

        for name in "ab":
            (Path(folder) / name).mkdir()
        return run_ranks(work, 2)


def whole_on_two_ranks():
    """The weights after four steps without dropout, by the model's dtype."""
    with tempfile.TemporaryDirectory() as folder:

        def work(rank):
            found = {}
            for dtype in (torch.float32, torch.float64):
                run = Run(folder, p=0.0, plain=True)
                run.dtype, run.file = dtype, run.file.with_name(f"{dtype}.pt")
                run.alone(4, seed=3 * rank)
                found[dtype] = run.weights()
            return found

        return run_ranks(work, 2)


def late_on_two_ranks():
    """Rank 0 gets SIGTERM while it saves after step 2, when the ranks have agreed to go on."""
    with tempfile.TemporaryDirectory() as folder:

        def work(rank):
            save, sent = torch.save, []

            def signalled(state, place, *more, **others):
                found = save(state, place, *more, **others)
                if not sent and not to_memory(**others):
                    sent.append(signal.raise_signal(signal.SIGTERM))
                return found

            run = Run(folder)
            with patch("torch.save", signalled):
                return run.alone(6, seed=rank, every=2)

        return run_ranks(work, 2)
