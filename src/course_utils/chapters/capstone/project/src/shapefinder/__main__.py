"""The commands: ``python -m shapefinder train|evaluate|export|serve --option value …``."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import torch
import torch.distributed as dist

from .config import Config, read_config
from .evaluate import evaluate
from .export import export_program, load_weights, save_weights
from .folder import Batches, ShapesFolder
from .grid import decode
from .losses import detection_loss
from .model import build_model
from .predict import find_shapes
from .server import make_server
from .train import fit

WEIGHTS = torch.tensor([1.0, 1.0, 5.0])  # of the three losses


def train(config: Config) -> None:
    """Train, on as many processes as ``torchrun`` started; continue where a run was kept."""
    together = int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized()
    if together:
        dist.init_process_group("gloo")
    first = int(os.environ.get("RANK", "0")) == 0
    torch.manual_seed(config.seed)
    model = build_model(config.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.rate)
    batches = Batches(ShapesFolder(config.data, "train"), config.batch, config.seed, config.flip)
    losses = []

    def loss(output, target):
        parts = detection_loss(output, target)
        losses.append(parts.tolist())
        return (parts * WEIGHTS).sum()

    out = Path(config.out)
    out.mkdir(parents=True, exist_ok=True)
    done = fit(model, optimizer, loss, batches, config.steps, out / "run.pt", config.every)
    if first:
        (out / "settings.json").write_text(json.dumps(asdict(config)))
        save_weights(model, out, config.width)
        with open(out / "losses.jsonl", "a") as file:
            for number, parts in enumerate(losses, start=done - len(losses) + 1):
                file.write(json.dumps({"step": number, "loss": parts}) + "\n")
        print(f"{done} of {config.steps} steps are done", flush=True)
    if together:
        dist.barrier()
        dist.destroy_process_group()
        sys.stdout.flush()
        os._exit(0)  # some builds of gloo abort while the interpreter ends


def score(config: Config) -> dict[str, float]:
    """How well the weights in ``--out`` do on the images that no training saw."""
    model, samples = load_weights(config.out), ShapesFolder(config.data, "val")
    with torch.no_grad():
        found = decode(model(torch.stack([x for x, _, _ in samples])))
    return evaluate(found, [true for _, _, true in samples])


def export(config: Config) -> None:
    """Write the program beside the weights."""
    export_program(load_weights(config.out), Path(config.out) / "model.pt2")
    print("model.pt2 is written")


def serve(config: Config) -> None:
    """Answer requests on loopback until the process is ended."""
    model = load_weights(config.out)
    server = make_server(lambda image: find_shapes(model, image), int(os.environ.get("PORT", "0")))
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


def main(words: list[str]) -> None:
    """Run one command."""
    commands = {"train": train, "evaluate": score, "export": export, "serve": serve}
    if not words or words[0] not in commands:
        sys.exit(f"usage: python -m shapefinder {'|'.join(commands)} --option value …")
    result = commands[words[0]](read_config(words[1:]))
    if result is not None:
        print(json.dumps({name: round(value, 4) for name, value in result.items()}))


if __name__ == "__main__":
    main(sys.argv[1:])
