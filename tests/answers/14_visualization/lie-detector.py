# %% [markdown]
# Rules:
#
# - "Repair each axes **in place**"
# - "Another figure may be pyplot's current one"
# - "the bars from 0"
# - "all axes that are seen there have the same y-limits"
# - "all points inside"
# - "a line each"
# - "its points inside the limits of both axes"
# - "in one colour map"
# - "with the same norm"
# - "colour limits, which hold the numbers of both"
# - "The x of every line is the step, from 0"
# - "inside the limits"
# - "not transparent"
# - "not in the colour of the ground"
# - "Up is more"
# - "right is later"
# - "bars have a linear scale"
# - "the limits and the scale of the first"
# - "`data` stays as it is"

# %% wrong="the stub" says=["18 of 21 cases fail", "the axis begins at", "no visible line holds the raw loss", "still have two scales", "the number of seeds with a visible line: expected 5, got 1", "points still lie outside the limits", "the colour limits still differ"]
def lie_detector(plots, data):
    pass


# %% wrong="the axis from 0.5; less smoothing; mean of the seeds; a log scale" says=["only a linear one has it", "no visible line holds the raw loss", "expected 5, got 1"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0.5, 1)
    plots["smoothed away"].plot(torch.tensor(data["loss"]).unfold(0, 5, 1).mean(1))
    for axes in plots["two scales"].figure.axes:
        axes.set_yscale("log")
    plots["one seed"].plot(torch.tensor(data["seeds"]).mean(0))
    plots["stopped early"].autoscale()
    for image in plots["own colours"].images:
        image.set_clim(0, 100)


# %% wrong="same limits that cut points off; colours by the first image" breaks="all points inside" says=["points of data['loss'] lie outside the limits", "lie outside"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    plots["smoothed away"].plot(data["loss"])
    for axes in plots["two scales"].figure.axes:
        if axes.bbox.bounds == plots["two scales"].bbox.bounds:
            axes.set_ylim(0, 1)
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].set_xlim(0, len(data["validation"]))
    for image in plots["own colours"].images:
        image.set_clim(0, 1)


# %% wrong="the second curve thrown out" says=["data['validation'] is no line of it any more"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    plots["smoothed away"].plot(data["loss"])
    for axes in plots["two scales"].figure.axes:
        if axes is not plots["two scales"] and axes.bbox.bounds == plots["two scales"].bbox.bounds:
            axes.remove()
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    most = max(table.max() for table in data["errors"].values())
    for image in plots["own colours"].images:
        image.set_clim(0, most)


# %% wrong="x of its own, and an accuracy that is redrawn wider" says=["its x are not the steps, counted from 0", "points still lie outside the limits"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    plots["smoothed away"].plot(range(1, 201), data["loss"])
    axes = plots["two scales"]
    axes.plot(data["validation"])
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].set_xlim(0, 100)
    most = max(table.max() for table in data["errors"].values())
    for image in plots["own colours"].images:
        image.set_clim(0, most)


# %% right="clears and draws anew"
def lie_detector(plots, data):
    for name, axes in plots.items():
        if name != "own colours":
            axes.clear()
    plots["cut axis"].bar(list(data["accuracy"]), list(data["accuracy"].values()))
    plots["smoothed away"].plot(data["loss"])
    twins = [a for a in plots["two scales"].figure.axes if a not in plots.values()]
    for twin in twins:
        twin.set_visible(False)
    plots["two scales"].plot(data["loss"])
    plots["two scales"].plot(data["validation"])
    plots["one seed"].plot(torch.tensor(data["seeds"]).T)
    plots["stopped early"].plot(range(200), data["validation"])
    low = min(image.get_array().min() for image in plots["own colours"].images)
    high = max(image.get_array().max() for image in plots["own colours"].images)
    norm = plt.Normalize(low, high)
    for image in plots["own colours"].images:
        image.set_norm(norm)


# %% right="keeps the twin, with the same limits"
def lie_detector(plots, data):
    plots["cut axis"].set(ylim=(-0.1, 1.2))
    plots["smoothed away"].plot(data["loss"], color="0.8", zorder=0)
    top = 1.1 * max(data["loss"] + data["validation"])
    for axes in plots["two scales"].figure.axes:
        if any(
            len(line.get_ydata()) == 200 and list(line.get_ydata()) == data["validation"]
            for line in axes.lines
        ):
            axes.set_ylim(0, top)
    plots["two scales"].set_ylim(0, top)
    for curve in data["seeds"]:
        plots["one seed"].plot(curve, lw=0.5)
    plots["stopped early"].set_xlim(-10, 300)
    plots["stopped early"].set_ylim(0, top)
    for image in plots["own colours"].images:
        image.set_clim(-5, 50)


# %% wrong="two scales: only the first axes gets limits" breaks="all axes that are seen there have the same y-limits" says=["still have two scales"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    plots["two scales"].set_ylim(0, 3)
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].clear()
    plots["stopped early"].plot(data["validation"])
    images = plots["own colours"].images
    most = max(image.get_array().max() for image in images)
    for image in images:
        image.set_clim(0, most)


# %% wrong="draws new figures" breaks="Repair each axes **in place**" says=["no longer in its figure"]
def lie_detector(plots, data):
    figure, grid = plt.subplots(2, 3)
    grid[0, 0].bar(["A", "B"], list(data["accuracy"].values()))
    grid[0, 1].plot(data["loss"])
    grid[0, 2].plot(data["loss"])
    grid[0, 2].plot(data["validation"])
    for c in data["seeds"]:
        grid[1, 0].plot(c)
    grid[1, 1].plot(data["validation"])
    for name, ax in zip(plots, grid.flat):
        plots[name] = ax


# %% wrong="draws the curves from step 1" breaks="The x of every line is the step, from 0" says=["its x are not the steps"]
def lie_detector(plots, data):
    steps = range(1, 201)
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(steps, data["loss"])
    ax = plots["two scales"]
    ax.figure.axes[-1].remove()
    ax.plot(steps, data["validation"])
    for c in data["seeds"]:
        plots["one seed"].plot(steps, c)
    plots["stopped early"].clear()
    plots["stopped early"].plot(steps, data["validation"])
    for image in plots["own colours"].images:
        image.set_clim(0, 20)


# %% right="semilog and step plots, images by norm"
def lie_detector(plots, data):
    ax = plots["cut axis"]
    ax.cla()
    ax.barh(["A", "B"], list(data["accuracy"].values())) if False else ax.bar(
        list(data["accuracy"]), list(data["accuracy"].values())
    )
    ax = plots["smoothed away"]
    ax.plot(data["loss"], alpha=0.3, zorder=0)
    ax = plots["two scales"]
    (twin,) = [a for a in ax.figure.axes if a is not ax and a.bbox.bounds == ax.bbox.bounds]
    low = 0.9 * min(data["loss"] + data["validation"])
    high = 1.1 * max(data["loss"] + data["validation"])
    for a in (ax, twin):
        a.set_yscale("log")
        a.set_ylim(low, high)
    for c in data["seeds"]:
        plots["one seed"].step(range(len(c)), c)
    plots["stopped early"].set_xlim(0, len(data["validation"]))
    plots["stopped early"].set_ylim(0, 1.1 * max(data["validation"]))
    first, second = plots["own colours"].images
    first.set_clim(0, max(first.get_clim()[1], second.get_clim()[1]))
    second.set_norm(first.norm)


# %% wrong="the second axes keeps its own scale" says=["the second axes is still there, with the limits"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"], alpha=0.4)
    plots["two scales"].plot(data["validation"], color="C1")
    plots["two scales"].autoscale()
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    most = max(table.max() for table in data["errors"].values())
    for image in plots["own colours"].images:
        image.set_clim(0, most)


# %% wrong="the raw line is fully transparent" breaks="not transparent" says=["no visible line holds the raw loss", "can't be seen"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"], alpha=0)
    twin = plots["two scales"].figure.axes[-1]
    twin.remove()
    plots["two scales"].plot(data["validation"], color="C1")
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    most = max(table.max() for table in data["errors"].values())
    for image in plots["own colours"].images:
        image.set_clim(0, most)


# %% wrong="lines without width, lines in white" breaks="not in the colour of the ground" says=["no visible line holds the raw loss", "expected 5, got 1", "can't be seen"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"], linewidth=0)
    plots["two scales"].figure.axes[-1].remove()
    plots["two scales"].plot(data["validation"], color="C1")
    for curve in data["seeds"]:
        plots["one seed"].plot(curve, color="white")
    plots["stopped early"].autoscale()
    most = max(table.max() for table in data["errors"].values())
    for image in plots["own colours"].images:
        image.set_clim(0, most)


# %% wrong="smooths the caller's data" breaks="`data` stays as it is" says=["data['loss'] was changed", "no visible line holds the raw loss"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    (line,) = plots["smoothed away"].lines
    data["loss"][:] = [float(v) for v in line.get_ydata()]
    plots["smoothed away"].plot(data["loss"])
    plots["two scales"].figure.axes[-1].remove()
    plots["two scales"].plot(data["validation"], color="C1")
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    most = max(table.max() for table in data["errors"].values())
    for image in plots["own colours"].images:
        image.set_clim(0, most)


# %% right="the second axes stays, empty and switched off"
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"], alpha=0.3, lw=0.5)
    twin = plots["two scales"].figure.axes[-1]
    twin.lines[0].remove()
    twin.axis("off")
    plots["two scales"].plot(data["validation"], "C1.", markersize=1)
    plots["two scales"].autoscale()
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    for image in plots["own colours"].images:
        image.set_clim(0, max(table.max() for table in data["errors"].values()))


# %% wrong="bars on a log scale" breaks="bars have a linear scale" says=["only a linear one has it"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["cut axis"].set_yscale("log")
    plots["smoothed away"].plot(data["loss"])
    s = plots["two scales"]
    t = s.figure.axes[-1]
    low = min(min(data["loss"]), min(data["validation"]))
    high = max(max(data["loss"]), max(data["validation"]))
    s.set_ylim(low - 0.1, high + 0.1)
    t.set_ylim(low - 0.1, high + 0.1)
    for c in data["seeds"]:
        plots["one seed"].plot(c)
    e = plots["stopped early"]
    e.set_xlim(0, len(data["validation"]))
    e.set_ylim(0, max(data["validation"]) + 1)
    im = plots["own colours"].images
    top = max(float(i.get_array().max()) for i in im)
    for i in im:
        i.set_clim(0, top)


# %% wrong="the raw loss beyond the limits" breaks="inside the limits" says=["smoothed away: the line is there, but points of it are outside"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    plots["smoothed away"].plot(data["loss"])
    plots["smoothed away"].set_ylim(0, 0.01)
    s = plots["two scales"]
    t = s.figure.axes[-1]
    low = min(min(data["loss"]), min(data["validation"]))
    high = max(max(data["loss"]), max(data["validation"]))
    s.set_ylim(low - 0.1, high + 0.1)
    t.set_ylim(low - 0.1, high + 0.1)
    for c in data["seeds"]:
        plots["one seed"].plot(c)
    e = plots["stopped early"]
    e.set_xlim(0, len(data["validation"]))
    e.set_ylim(0, max(data["validation"]) + 1)
    im = plots["own colours"].images
    top = max(float(i.get_array().max()) for i in im)
    for i in im:
        i.set_clim(0, top)


# %% wrong="the seeds beyond the limits" says=["one seed: the line is there, but points of it are outside"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    plots["smoothed away"].plot(data["loss"])
    s = plots["two scales"]
    t = s.figure.axes[-1]
    low = min(min(data["loss"]), min(data["validation"]))
    high = max(max(data["loss"]), max(data["validation"]))
    s.set_ylim(low - 0.1, high + 0.1)
    t.set_ylim(low - 0.1, high + 0.1)
    for c in data["seeds"]:
        plots["one seed"].plot(c)
    plots["one seed"].set_ylim(0.99, 1)
    e = plots["stopped early"]
    e.set_xlim(0, len(data["validation"]))
    e.set_ylim(0, max(data["validation"]) + 1)
    im = plots["own colours"].images
    top = max(float(i.get_array().max()) for i in im)
    for i in im:
        i.set_clim(0, top)


# %% wrong="limits the wrong way round" breaks="Up is more" says=["the y-axis is turned round"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(1, 0)
    plots["smoothed away"].plot(data["loss"])
    t = plots["two scales"].figure.axes[-1]
    t.set_ylim(0, 3)
    plots["two scales"].set_ylim(3, 0)
    for c in data["seeds"]:
        plots["one seed"].plot(c)
    plots["stopped early"].autoscale()
    for i in plots["own colours"].images:
        i.set_clim(0, max(t.max() for t in data["errors"].values()))


# %% wrong="a colour map for each image" breaks="in one colour map" says=["the two images have different colours"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    t = plots["two scales"].figure.axes[-1]
    t.set_ylim(0, 3)
    plots["two scales"].set_ylim(0, 3)
    for c in data["seeds"]:
        plots["one seed"].plot(c)
    plots["stopped early"].autoscale()
    ims = plots["own colours"].images
    for i in ims:
        i.set_clim(0, max(t.max() for t in data["errors"].values()))
    ims[1].set_cmap("Reds")


# %% wrong="a log scale on one of the two" breaks="the limits and the scale of the first" says=["the two losses still have two scales: linear and log"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    second = plots["two scales"].figure.axes[-1]
    second.set_yscale("log")
    for axes in (plots["two scales"], second):
        axes.set_ylim(1e-4, 3)
    for c in data["seeds"]:
        plots["one seed"].plot(c)
    plots["stopped early"].autoscale()
    for image in plots["own colours"].images:
        image.set_clim(0, 20)


# %% right="new data for the lines that are there"
def lie_detector(plots, data):
    import numpy as np

    steps = np.arange(200)
    axes = plots["cut axis"]
    axes.set_ylim(bottom=0, top=axes.get_ylim()[1])
    plots["smoothed away"].lines[0].set_data(steps, data["loss"])
    plots["smoothed away"].relim()
    plots["smoothed away"].autoscale_view()
    first, second = plots["two scales"], plots["two scales"].figure.axes[-1]
    low = min(min(data["loss"]), min(data["validation"]))
    high = max(max(data["loss"]), max(data["validation"]))
    for one in (first, second):
        one.set_ylim(low - 0.1, high + 0.1)
    plots["one seed"].lines[0].remove()
    plots["one seed"].plot(steps, np.array(data["seeds"]).T, lw=0.5, color="C2")
    plots["stopped early"].set(xlim=(0, 199), ylim=(0, 1.05 * max(data["validation"])))
    highest = max(float(t.max()) for t in data["errors"].values())
    for image in plots["own colours"].get_images():
        image.set(clim=(0, highest))


# %% wrong="the bars from a tenth" breaks="the bars from 0" says=["the axis begins at 0.100"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0.1)
    ax = plots["smoothed away"]
    ax.plot(data["loss"], alpha=0.5)
    ax.autoscale()
    ax = plots["two scales"]
    ax.figure.axes[-1].remove()
    ax.plot(data["loss"], color="C0")
    ax.plot(data["validation"], color="C1")
    ax.autoscale()
    ax = plots["one seed"]
    for curve in data["seeds"]:
        ax.plot(curve)
    ax.autoscale()
    ax = plots["stopped early"]
    ax.plot(data["validation"], color="C3")
    ax.autoscale()
    images = plots["own colours"].images
    top = max(float(i.get_array().max()) for i in images)
    for i in images:
        i.set_clim(0, top)
        i.set_cmap("Blues")


# %% wrong="a mean of the seeds" breaks="a line each" says=["expected 5, got 1"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    ax = plots["smoothed away"]
    ax.plot(data["loss"], alpha=0.5)
    ax.autoscale()
    ax = plots["two scales"]
    ax.figure.axes[-1].remove()
    ax.plot(data["loss"], color="C0")
    ax.plot(data["validation"], color="C1")
    ax.autoscale()
    ax = plots["one seed"]
    ax.plot([sum(c) / len(c) for c in zip(*data["seeds"])])
    ax.autoscale()
    ax = plots["stopped early"]
    ax.plot(data["validation"], color="C3")
    ax.autoscale()
    images = plots["own colours"].images
    top = max(float(i.get_array().max()) for i in images)
    for i in images:
        i.set_clim(0, top)
        i.set_cmap("Blues")


# %% wrong="the end of the validation loss stays cut off" breaks="its points inside the limits of both axes" says=["points still lie outside the limits"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    ax = plots["smoothed away"]
    ax.plot(data["loss"], alpha=0.5)
    ax.autoscale()
    ax = plots["two scales"]
    ax.figure.axes[-1].remove()
    ax.plot(data["loss"], color="C0")
    ax.plot(data["validation"], color="C1")
    ax.autoscale()
    ax = plots["one seed"]
    for curve in data["seeds"]:
        ax.plot(curve)
    ax.autoscale()
    ax = plots["stopped early"]
    ax.plot(data["validation"], color="C3")
    ax.set_xlim(0, 30)
    images = plots["own colours"].images
    top = max(float(i.get_array().max()) for i in images)
    for i in images:
        i.set_clim(0, top)
        i.set_cmap("Blues")


# %% wrong="each image has limits of its own" breaks="colour limits, which hold the numbers of both" says=["the colour limits still differ"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(bottom=0)
    ax = plots["smoothed away"]
    ax.plot(data["loss"], alpha=0.5)
    ax.autoscale()
    ax = plots["two scales"]
    ax.figure.axes[-1].remove()
    ax.plot(data["loss"], color="C0")
    ax.plot(data["validation"], color="C1")
    ax.autoscale()
    ax = plots["one seed"]
    for curve in data["seeds"]:
        ax.plot(curve)
    ax.autoscale()
    ax = plots["stopped early"]
    ax.plot(data["validation"], color="C3")
    ax.autoscale()
    images = plots["own colours"].images
    for i in images:
        i.set_clim(0, float(i.get_array().max()))
        i.set_cmap("Blues")


# %% wrong="bars on a log scale, from where they began" says=["the scale is 'log': a bar begins at 0"]
def lie_detector(plots, data):
    plots["cut axis"].set_yscale("log")

    raw = plots["smoothed away"]
    raw.plot(range(len(data["loss"])), data["loss"], alpha=0.5)
    raw.relim()
    raw.autoscale()

    two = plots["two scales"]
    other = two.figure.axes[-1]
    top = max(max(data["loss"]), max(data["validation"]))
    for axes in (two, other):
        axes.set_ylim(0, 1.1 * top)

    seeds = plots["one seed"]
    for line in list(seeds.lines):
        line.remove()
    for curve in data["seeds"]:
        seeds.plot(range(len(curve)), curve)
    seeds.relim()
    seeds.autoscale()

    stopped = plots["stopped early"]
    for line in list(stopped.lines):
        line.remove()
    stopped.plot(range(len(data["validation"])), data["validation"])
    stopped.relim()
    stopped.autoscale()

    images = plots["own colours"].images
    low = min(float(image.get_array().min()) for image in images)
    high = max(float(image.get_array().max()) for image in images)
    for image in images:
        image.set_clim(low, high)
        image.set_cmap("Blues")


# %% wrong="a bar is beside the axis" says=["cut axis", "a bar is outside the limits of the x-axis"]
def lie_detector(plots, data):
    bars = plots["cut axis"]
    top = max(bar.get_height() for bar in bars.patches)
    bars.set_ylim(0, 1.1 * top)
    bars.set_xlim(-0.5, 0.5)
    raw = plots["smoothed away"]
    raw.plot(range(len(data["loss"])), list(data["loss"]))
    raw.set_ylim(0, 1.1 * max(data["loss"]))
    raw.set_xlim(0, len(data["loss"]))
    first = plots["two scales"]
    second = first.figure.axes[-1]
    both = [*data["loss"], *data["validation"]]
    for axes in (first, second):
        axes.set_yscale("linear")
        axes.set_ylim(min(0, min(both)), 1.1 * max(both))
    seeds = plots["one seed"]
    for curve in data["seeds"]:
        seeds.plot(range(len(curve)), list(curve))
    every = [v for curve in data["seeds"] for v in curve]
    seeds.set_ylim(min(every) - 0.1, max(every) + 0.1)
    early = plots["stopped early"]
    early.plot(range(len(data["validation"])), list(data["validation"]))
    early.set_xlim(0, len(data["validation"]))
    early.set_ylim(min(data["validation"]) - 0.1, max(data["validation"]) + 0.1)
    images = plots["own colours"].images
    low = min(float(image.get_array().min()) for image in images)
    high = max(float(image.get_array().max()) for image in images)
    for image in images:
        image.set_cmap("viridis")
        image.set_clim(low, high)


# %% wrong="the steps run to the left" breaks="right is later" says=["stopped early", "later steps are on the right"]
def lie_detector(plots, data):
    bars = plots["cut axis"]
    top = max(bar.get_height() for bar in bars.patches)
    bars.set_ylim(0, 1.1 * top)
    raw = plots["smoothed away"]
    raw.plot(range(len(data["loss"])), list(data["loss"]))
    raw.set_ylim(0, 1.1 * max(data["loss"]))
    raw.set_xlim(0, len(data["loss"]))
    first = plots["two scales"]
    second = first.figure.axes[-1]
    both = [*data["loss"], *data["validation"]]
    for axes in (first, second):
        axes.set_yscale("linear")
        axes.set_ylim(min(0, min(both)), 1.1 * max(both))
    seeds = plots["one seed"]
    for curve in data["seeds"]:
        seeds.plot(range(len(curve)), list(curve))
    every = [v for curve in data["seeds"] for v in curve]
    seeds.set_ylim(min(every) - 0.1, max(every) + 0.1)
    early = plots["stopped early"]
    early.plot(range(len(data["validation"])), list(data["validation"]))
    early.set_xlim(len(data["validation"]), 0)
    early.set_ylim(min(data["validation"]) - 0.1, max(data["validation"]) + 0.1)
    images = plots["own colours"].images
    low = min(float(image.get_array().min()) for image in images)
    high = max(float(image.get_array().max()) for image in images)
    for image in images:
        image.set_cmap("viridis")
        image.set_clim(low, high)


# %% wrong="the images have two norms" breaks="with the same norm" says=["own colours", "one number still has two colours"]
def lie_detector(plots, data):
    bars = plots["cut axis"]
    top = max(bar.get_height() for bar in bars.patches)
    bars.set_ylim(0, 1.1 * top)
    raw = plots["smoothed away"]
    raw.plot(range(len(data["loss"])), list(data["loss"]))
    raw.set_ylim(0, 1.1 * max(data["loss"]))
    raw.set_xlim(0, len(data["loss"]))
    first = plots["two scales"]
    second = first.figure.axes[-1]
    both = [*data["loss"], *data["validation"]]
    for axes in (first, second):
        axes.set_yscale("linear")
        axes.set_ylim(min(0, min(both)), 1.1 * max(both))
    seeds = plots["one seed"]
    for curve in data["seeds"]:
        seeds.plot(range(len(curve)), list(curve))
    every = [v for curve in data["seeds"] for v in curve]
    seeds.set_ylim(min(every) - 0.1, max(every) + 0.1)
    early = plots["stopped early"]
    early.plot(range(len(data["validation"])), list(data["validation"]))
    early.set_xlim(0, len(data["validation"]))
    early.set_ylim(min(data["validation"]) - 0.1, max(data["validation"]) + 0.1)
    images = plots["own colours"].images
    low = min(float(image.get_array().min()) for image in images)
    high = max(float(image.get_array().max()) for image in images)
    for image in images:
        image.set_cmap("viridis")
        image.set_clim(low, high)
    from matplotlib.colors import PowerNorm

    images[-1].set_norm(PowerNorm(0.3, low, high))


# %% wrong="the second image is the one with more errors" says=["other numbers, own colours: the colour limits still differ"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    smooth = plots["smoothed away"]
    smooth.plot(data["loss"])
    smooth.relim()
    smooth.autoscale()
    both = plots["two scales"]
    other = both.figure.axes[-1]
    other.remove()
    both.plot(data["validation"])
    top = max(max(data["loss"]), max(data["validation"]))
    both.set_ylim(min(0, min(data["loss"]), min(data["validation"])) - 0.1, top * 1.1)
    seeds = plots["one seed"]
    for line in list(seeds.lines):
        line.remove()
    for curve in data["seeds"]:
        seeds.plot(curve)
    seeds.relim()
    seeds.autoscale()
    early = plots["stopped early"]
    early.relim()
    early.autoscale()
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    colours.images[0].set_clim(0, most)


# %% wrong="no bar is higher than 0.9" says=["other numbers, cut axis: the bars reach beyond the axis"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 0.9)
    smooth = plots["smoothed away"]
    smooth.plot(data["loss"])
    smooth.relim()
    smooth.autoscale()
    both = plots["two scales"]
    other = both.figure.axes[-1]
    other.remove()
    both.plot(data["validation"])
    top = max(max(data["loss"]), max(data["validation"]))
    both.set_ylim(min(0, min(data["loss"]), min(data["validation"])) - 0.1, top * 1.1)
    seeds = plots["one seed"]
    for line in list(seeds.lines):
        line.remove()
    for curve in data["seeds"]:
        seeds.plot(curve)
    seeds.relim()
    seeds.autoscale()
    early = plots["stopped early"]
    early.relim()
    early.autoscale()
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    for image in colours.images:
        image.set_clim(0, most)


# %% wrong="limits by the training loss" says=["other numbers, two scales: points of"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    smooth = plots["smoothed away"]
    smooth.plot(data["loss"])
    smooth.relim()
    smooth.autoscale()
    both = plots["two scales"]
    other = both.figure.axes[-1]
    other.remove()
    both.plot(data["validation"])
    top = max(data["loss"])
    both.set_ylim(min(0, min(data["loss"]), min(data["validation"])) - 0.1, top)
    seeds = plots["one seed"]
    for line in list(seeds.lines):
        line.remove()
    for curve in data["seeds"]:
        seeds.plot(curve)
    seeds.relim()
    seeds.autoscale()
    early = plots["stopped early"]
    early.relim()
    early.autoscale()
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    for image in colours.images:
        image.set_clim(0, most)


# %% wrong="limits from 0 to the validation loss" says=["a spike, two scales: points of data['loss'] lie outside the limits"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    both = plots["two scales"]
    for axes in (both, both.figure.axes[-1]):
        axes.set_ylim(0, 1.05 * max(data["validation"]))
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    for image in colours.images:
        image.set_clim(0, most)


# %% right="the limits stay where they hold the whole curve"
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    both = plots["two scales"]
    for axes in (both, both.figure.axes[-1]):
        axes.set_ylim(-0.1, 1.05 * max(data["loss"] + data["validation"]))
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    early = plots["stopped early"]
    height = early.get_ylim()
    early.set_xlim(0, len(data["validation"]))
    low, high = min(data["validation"]), max(data["validation"])
    early.set_ylim(min(low, height[0]), max(high, height[1]))
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    for image in colours.images:
        image.set_clim(0, most)


# %% wrong="the height of the early part stays" says=["other numbers, stopped early: points still lie outside the limits: those of the y-axis"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    both = plots["two scales"]
    for axes in (both, both.figure.axes[-1]):
        axes.set_ylim(-0.1, 1.05 * max(data["loss"] + data["validation"]))
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].set_xlim(0, len(data["validation"]))
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    for image in colours.images:
        image.set_clim(0, most)


# %% wrong="the second axes of the current figure" breaks="Another figure may be pyplot's current one" says=["other numbers, the data afterwards: another figure, pyplot's current one, was changed", "other numbers, two scales: the two losses still have two scales"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    for axes in (plots["two scales"], plt.gcf().axes[-1]):
        axes.set_ylim(-0.1, 1.05 * max(data["loss"] + data["validation"]))
    for curve in data["seeds"]:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    for image in colours.images:
        image.set_clim(0, most)


# %% wrong="two equal seeds are one line" breaks="a line each" says=["a spike, one seed: two seeds have the same curve here: a line each"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0, 1)
    plots["smoothed away"].plot(data["loss"])
    both = plots["two scales"]
    for axes in (both, both.figure.axes[-1]):
        axes.set_ylim(-0.1, 1.05 * max(data["loss"] + data["validation"]))
    plots["one seed"].clear()
    for curve in {tuple(curve) for curve in data["seeds"]}:
        plots["one seed"].plot(curve)
    plots["stopped early"].autoscale()
    colours = plots["own colours"]
    most = max(image.get_array().max() for image in colours.images)
    for image in colours.images:
        image.set_clim(0, most)
