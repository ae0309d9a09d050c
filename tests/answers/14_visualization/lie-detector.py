# %% wrong="the stub" says=["6 of 6 cases fail", "the axis begins at", "no visible line holds the raw loss", "still have two scales", "the number of seeds with a visible line: expected 5, got 1", "points still lie outside the limits", "the colour limits still differ"]
def lie_detector(plots, data):
    pass


# %% wrong="the axis from 0.5; less smoothing; mean of the seeds; a log scale" says=["the axis begins at 0.500", "no visible line holds the raw loss", "expected 5, got 1"]
def lie_detector(plots, data):
    plots["cut axis"].set_ylim(0.5, 1)
    plots["smoothed away"].plot(torch.tensor(data["loss"]).unfold(0, 5, 1).mean(1))
    for axes in plots["two scales"].figure.axes:
        axes.set_yscale("log")
    plots["one seed"].plot(torch.tensor(data["seeds"]).mean(0))
    plots["stopped early"].autoscale()
    for image in plots["own colours"].images:
        image.set_clim(0, 100)


# %% wrong="same limits that cut points off; colours by the first image" says=["points of data['loss'] lie outside the limits", "lie outside"]
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


# %% wrong="x of its own, and an accuracy that is redrawn wider" says=["no visible line holds the raw loss", "points still lie outside the limits"]
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
