# %% wrong="no synchronise at the end" says=["only the launches were timed"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    synchronise()
    times = []
    for _ in range(repeats):
        begin = clock()
        run()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="no synchronise at all" says=["only the launches were timed"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        begin = clock()
        run()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="earlier work is timed" says=["earlier work was timed"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="no warm-up" says=["run was called 3 times", "warmup calls that nobody times"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="the warm-up is timed, too" says=["the first calls are timed"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    times = []
    for _ in range(warmup + repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    times = times[:repeats]
    return statistics.median(times), max(times) - min(times)


# %% wrong="a mean" says=["a mean is pulled up by one slow call"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return sum(times) / len(times), max(times) - min(times)


# %% wrong="one clock around all" says=["one pair of clocks around all calls gives a mean"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    synchronise()
    begin = clock()
    for _ in range(repeats):
        run()
    synchronise()
    return (clock() - begin) / repeats, 0.0


# %% wrong="the upper of the two in the middle" says=["half-way between two"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return sorted(times)[repeats // 2], max(times) - min(times)


# %% wrong="a standard deviation" says=["not a standard deviation"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), statistics.pstdev(times)


# %% wrong="only the median" says=["expected a tuple (median, spread)"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times)


# %% right="the end of one call begins the next; sorted by hand"
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    [run() for _ in range(warmup)]
    synchronise()
    marks = [clock()]
    while len(marks) <= repeats:
        run()
        synchronise()
        marks.append(clock())
    times = sorted(b - a for a, b in zip(marks[:-1], marks[1:], strict=True))
    middle = (times[(repeats - 1) // 2] + times[repeats // 2]) / 2
    return [middle, times[-1] - times[0]]


# %% right="with NumPy's quantiles"
import numpy as np  # noqa: E402


def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    def once():
        synchronise()
        begin = clock()
        run()
        synchronise()
        return clock() - begin

    for _ in range(warmup):
        run()
    times = np.array([once() for _ in range(repeats)])
    return float(np.quantile(times, 0.5)), float(np.ptp(times))


# %% wrong="synchronises before the warm-up" says=["the warm-up's kernels are timed, too"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    synchronise()
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="the lower of the two in the middle" says=["half-way between two"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    synchronise()
    times = []
    for _ in range(repeats):
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median_low(times), max(times) - min(times)


# %% wrong="a whole number" says=["an even number"]
def measure_it_right(
    run: Callable, synchronise: Callable, clock: Callable, warmup: int = 3, repeats: int = 7
) -> tuple[float, float]:
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return int(statistics.median(times)), max(times) - min(times)


# %% wrong="the warm-up's times are kept" says=["the warm-up's calls are among the times"]
def measure_it_right(
    run: Callable, synchronise: Callable, clock: Callable, warmup: int = 3, repeats: int = 7
) -> tuple[float, float]:
    times = []
    for _ in range(warmup + repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)
