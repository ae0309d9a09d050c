# %% [markdown]
# Rules:
#
# - "**Send both numbers before you take the next entry.**"
# - "lines named `train` and `validation`"
# - "over the steps"
# - "A loss that is NaN is sent, too"
# - "by the classes"
# - "which count from 0 (class 2 is visdom's class 3)"
# - "a 3-D scatter"
# - "a stem plot"
# - "a heat map"
# - "all of"
# - "**saves both environments**"

# %% wrong="the stub" says=["run/loss", "a second server has no such window: no environment was saved"]
def visdom_live(client, curve, about):
    pass


# %% wrong="all at the end" breaks="**Send both numbers before you take the next entry.**" says=["live: step 1 was over, and the curves of window 'loss' held [] points"]
def visdom_live(client, curve, about):
    steps, train, validation = zip(*curve)
    client.line(X=list(steps), Y=list(train), win="loss", env="run", name="train")
    client.line(
        X=list(steps), Y=list(validation), win="loss", env="run", name="validation", update="append"
    )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="forgets to save" says=["no environment was saved"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", env="run", name="train", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", env="run", name="validation", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")


# %% wrong="one environment, a line for a stem, one image" says=["evaluation/confusion: it is in environment 'run'", "run/spikes", "is it a stem plot?", "can't hold 70 images"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", env="run", name="train", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", env="run", name="validation", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.line(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="run")
    client.image(about["samples"][0], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="names forgotten, map without classes" says=["the names of the lines", "the number of classes that are shown: expected 3, got 1"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(
            X=[[step, step]], Y=[[train, validation]], win="loss", env="run", update="append"
        )
    client.scatter(about["points"], win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="replaces the line, and a cloud without depth" says=["held [1, 1] points", "run/cloud", "the kind of plot"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", env="run", name="train")
        client.line(
            X=[step], Y=[validation], win="loss", env="run", name="validation", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"][:, :2], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% right="both lines in one call, with a legend"
def visdom_live(client, curve, about):
    import numpy as np

    for step, train, validation in curve:
        client.line(
            X=np.array([[step, step]], float),
            Y=np.array([[train, validation]], float),
            win="loss",
            env="run",
            update="append" if client.win_exists("loss", env="run") else None,
            opts={"legend": ["train", "validation"], "title": "loss"},
        )
    client.env = "run"
    classes = about["classes"].numpy() + 1
    names = [f"class {number}" for number in range(classes.max())]
    client.scatter(about["points"].numpy(), classes, win="map", opts={"legend": names})
    client.scatter(about["cloud"].numpy(), win="cloud", opts={"markersize": 3})
    client.stem(about["spikes"].numpy(), win="spikes")
    client.env = "evaluation"
    client.heatmap(about["confusion"].numpy(), win="confusion", opts={"colormap": "Viridis"})
    client.images(about["samples"].numpy(), win="samples", nrow=5)
    client.text(about["note"], win="note")
    client.save(["main", "run", "evaluation"])


# %% right="next, a grid made beforehand, saved one by one"
def visdom_live(client, curve, about):
    from torchvision.utils import make_grid

    while (entry := next(curve, None)) is not None:
        for name, value in (("validation", entry[2]), ("train", entry[1])):
            client.line([value], [entry[0]], win="loss", env="run", update="append", name=name)
    client.text(about["note"], env="evaluation", win="note")
    client.image(make_grid(about["samples"]), env="evaluation", win="samples")
    client.heatmap(
        about["confusion"].tolist() and about["confusion"], env="evaluation", win="confusion"
    )
    client.save(["evaluation"])
    client.stem(X=about["spikes"], env="run", win="spikes")
    client.scatter(X=about["cloud"], env="run", win="cloud")
    client.scatter(X=about["points"], Y=1 + about["classes"], env="run", win="map")
    client.save(["run"])


# %% wrong="no environments named" says=["its windows went elsewhere"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", name="train", update="append")
        client.line(X=[step], Y=[validation], win="loss", name="validation", update="append")
    client.scatter(about["points"], Y=about["classes"] + 1, win="map")
    client.scatter(about["cloud"], win="cloud")
    client.stem(about["spikes"], win="spikes")
    client.heatmap(about["confusion"], win="confusion")
    client.images(about["samples"], win="samples")
    client.text(about["note"], win="note")
    client.save(["run", "evaluation"])


# %% right="a table of calls, the rest drawn first"
import torch as _torch


def visdom_live(client, curve, about):
    calls = [
        (
            "run",
            "map",
            client.scatter,
            (about["points"],),
            {"Y": [c + 1 for c in about["classes"].tolist()]},
        ),
        ("run", "cloud", client.scatter, (about["cloud"],), {}),
        (
            "run",
            "spikes",
            client.stem,
            (about["spikes"],),
            {"Y": _torch.arange(len(about["spikes"]))},
        ),
        ("evaluation", "confusion", client.heatmap, (about["confusion"],), {}),
        ("evaluation", "samples", client.images, (list(about["samples"]),), {"padding": 1}),
        ("evaluation", "note", client.text, (about["note"],), {}),
    ]
    for env, win, call, positional, named in calls:
        call(*positional, env=env, win=win, **named)
    for step, *both in curve:
        for name, value in zip(("train", "validation"), both):
            client.line(
                Y=_torch.tensor([value]),
                X=_torch.tensor([step]),
                env="run",
                win="loss",
                name=name,
                update="append",
            )
    client.save(["run", "evaluation"])


# %% wrong="adds 1 to the classes in place" says=["about['classes'] was changed"]
def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    about["classes"] += 1
    client.scatter(about["points"], about["classes"], win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="takes the caller's dict apart" says=["about['note'] was taken away"]
def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    client.text(about.pop("note"), win="note", env="evaluation")
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="leaves the last sample out" breaks="all of" says=["samples [69] are not in the picture: all 70"]
def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"][:-1], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="the two lines have changed names" breaks="lines named `train` and `validation`" says=["train"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[validation], win="loss", name="train", env="run", update="append")
        client.line(X=[step], Y=[train], win="loss", name="validation", env="run", update="append")
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="counts the entries, not the steps" breaks="over the steps" says=["the steps of train"]


def visdom_live(client, curve, about):
    for step, (_, train, validation) in enumerate(curve):
        client.line(X=[step], Y=[train], win="loss", name="train", env="run", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", name="validation", env="run", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="no classes in the map" breaks="by the classes" says=["hand the classes over as well, counted from 1"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", name="train", env="run", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", name="validation", env="run", update="append"
        )
    client.scatter(about["points"], win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="a cloud of two columns" breaks="a 3-D scatter" says=["the kind of plot"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", name="train", env="run", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", name="validation", env="run", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"][:, :2], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="a line for the spikes" breaks="a stem plot" says=["is it a stem plot?"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", name="train", env="run", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", name="validation", env="run", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.line(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="the heat map turned" breaks="a heat map" says=["transposed"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", name="train", env="run", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", name="validation", env="run", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"].T, win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="saves one of the two" breaks="**saves both environments**" says=["no such window"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", name="train", env="run", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", name="validation", env="run", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run"])


# %% wrong="numbers switched" says=["train and validation have changed places"]
def visdom_live(client, curve, about):
    for step, validation, train in curve:
        client.line(X=[step], Y=[train], win="loss", env="run", name="train", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", env="run", name="validation", update="append"
        )
    client.scatter(X=about["points"], Y=about["classes"] + 1, win="map", env="run")
    client.scatter(X=about["cloud"], win="cloud", env="run")
    client.stem(X=about["spikes"], win="spikes", env="run")
    client.heatmap(X=about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="a window for each line" says=["both lines belong into this window, each with its name"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", env="run", name="train", update="append")
        client.line(
            X=[step],
            Y=[validation],
            win="loss validation",
            env="run",
            name="validation",
            update="append",
        )
    client.scatter(X=about["points"], Y=about["classes"] + 1, win="map", env="run")
    client.scatter(X=about["cloud"], win="cloud", env="run")
    client.stem(X=about["spikes"], win="spikes", env="run")
    client.heatmap(X=about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="confusion as an image" says=["a window of the kind 'image'; a plot (heatmap) is asked for"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", env="run", name="train", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", env="run", name="validation", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.image(about["confusion"][None], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="confusion in shares of its rows" says=["divided by the sums of its rows"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        client.line(X=[step], Y=[train], win="loss", env="run", name="train", update="append")
        client.line(
            X=[step], Y=[validation], win="loss", env="run", name="validation", update="append"
        )
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(
        about["confusion"] / about["confusion"].sum(1, keepdim=True),
        win="confusion",
        env="evaluation",
    )
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="classes are counted anew" says=["run/map", "here the classes that are there were counted"]


def visdom_live(client, curve, about):
    for step, train, validation in curve:
        for name, value in (("train", train), ("validation", validation)):
            client.line(X=[step], Y=[value], win="loss", env="run", name=name, update="append")
    client.scatter(
        about["points"], about["classes"].unique(return_inverse=True)[1] + 1, win="map", env="run"
    )
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="a loss of 0 isn't sent" says=["a loss of 0 is sent, too"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        for name, value in (("train", train), ("validation", validation)):
            if value:
                client.line(X=[step], Y=[value], win="loss", env="run", name=name, update="append")
    client.scatter(X=about["points"], Y=about["classes"] + 1, win="map", env="run")
    client.scatter(X=about["cloud"], win="cloud", env="run")
    client.stem(X=about["spikes"], win="spikes", env="run")
    client.heatmap(X=about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="losses rounded to two places" says=["rounded to 2 places; send the numbers as they are"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        for name, value in (("train", train), ("validation", validation)):
            client.line(
                X=[step], Y=[round(value, 2)], win="loss", env="run", name=name, update="append"
            )
    client.scatter(X=about["points"], Y=about["classes"] + 1, win="map", env="run")
    client.scatter(X=about["cloud"], win="cloud", env="run")
    client.stem(X=about["spikes"], win="spikes", env="run")
    client.heatmap(X=about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="the environment run only in the windows that aren't lines" says=["does its call say env='run', before the save?"]
def visdom_live(client, curve, about):
    for step, train, validation in curve:
        for name, value in (("train", train), ("validation", validation)):
            client.line(X=[step], Y=[value], win="loss", env="run", name=name, update="append")
    client.scatter(X=about["points"], Y=about["classes"] + 1, win="map", env="run")
    client.scatter(X=about["cloud"], win="cloud", env="run")
    client.stem(X=about["spikes"], win="spikes")
    client.heatmap(X=about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="classes from 0, as they come" says=["those of about['classes'] count from 0, visdom's from 1"]
def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses, strict=True):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    client.scatter(about["points"], about["classes"], win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="leaves out a step that has a NaN" breaks="A loss that is NaN is sent, too" says=["live: step 3 was over", "a number that is NaN is sent, too", "a step of which a loss is NaN is sent, too"]
import math


def visdom_live(client, curve, about):
    for step, *losses in curve:
        if not all(map(math.isfinite, losses)):
            continue
        for name, loss in zip(("train", "validation"), losses):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="leaves out the NaN itself" breaks="A loss that is NaN is sent, too" says=["live: step 3 was over", "a number that is NaN is sent, too"]
import math


def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses):
            if math.isnan(loss):
                continue
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="sixteen samples at most" breaks="all of" says=["evaluation/samples: a picture of", "can't hold 70 images"]
def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"][:16], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% right="a pair of numbers in one call, with a legend"
def visdom_live(client, curve, about):
    for step, *losses in curve:
        names = {"opts": {"legend": ["train", "validation"]}}
        pair = torch.tensor([[step, step]]), torch.tensor([losses])
        client.line(X=pair[0], Y=pair[1], win="loss", env="run", update="append", **names)
    client.scatter(about["points"], about["classes"] + 1, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="classes counted from the smallest" breaks="which count from 0 (class 2 is visdom's class 3)" says=["run/map: a class has its own number", "counted from the smallest that is there"]
def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses, strict=True):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    classes = about["classes"] - about["classes"].min() + 1
    client.scatter(about["points"], classes, win="map", env="run")
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])


# %% wrong="a legend from 0, and classes as they come" says=["run/map: those of about['classes'] count from 0, visdom's from 1", "the name of the one before"]
def visdom_live(client, curve, about):
    for step, *losses in curve:
        for name, loss in zip(("train", "validation"), losses, strict=True):
            client.line(X=[step], Y=[loss], win="loss", env="run", name=name, update="append")
    legend = {"legend": [f"class {n}" for n in range(10)]}
    client.scatter(about["points"], about["classes"], win="map", env="run", opts=legend)
    client.scatter(about["cloud"], win="cloud", env="run")
    client.stem(about["spikes"], win="spikes", env="run")
    client.heatmap(about["confusion"], win="confusion", env="evaluation")
    client.images(about["samples"], win="samples", env="evaluation")
    client.text(about["note"], win="note", env="evaluation")
    client.save(["run", "evaluation"])
