# %% [markdown]
# Rules:
#
# - "returns `(median, spread)`"
# - "waits until the queue is empty"
# - "Call `run` `warmup` times"
# - "without timing it"
# - "then `repeats` times (1 or more)"
# - "(0 is possible)"
# - "each call timed alone"
# - "from an empty queue"
# - "until its work is done"
# - "The median of an even number of times is half-way between the two in the middle"
# - "The spread is the longest time less the shortest"
# - "Something may be in the queue when your function is called"
# - "Left out, they are 3 and 7"
# - "perhaps in large whole numbers"
#
# Admits:
#
# - "(0 is possible)": no warm-up, earlier work
# - "(1 or more)": once
# - "an even number of times": an even number
# - "Something may be in the queue": tiny kernels
# - "perhaps in large whole numbers": nanoseconds since 1970

# %% wrong="no synchronise at the end" breaks="until its work is done" says=["only the launches were timed"]
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


# %% wrong="no synchronise at all" breaks="waits until the queue is empty" says=["only the launches were timed"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        begin = clock()
        run()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="earlier work is timed" breaks="Something may be in the queue when your function is called" says=["earlier work was timed"]
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


# %% wrong="no warm-up" breaks="Call `run` `warmup` times" says=["run was called 3 times", "warmup calls that nobody times"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="the warm-up is timed, too" breaks="without timing it" says=["the first calls are timed"]
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


# %% wrong="one clock around all" breaks="each call timed alone" says=["one pair of clocks around all calls gives a mean"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    synchronise()
    begin = clock()
    for _ in range(repeats):
        run()
    synchronise()
    return (clock() - begin) / repeats, 0.0


# %% wrong="the upper of the two in the middle" breaks="The median of an even number of times is half-way between the two in the middle" says=["half-way between two"]
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


# %% wrong="a standard deviation" breaks="The spread is the longest time less the shortest" says=["not a standard deviation"]
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


# %% wrong="only the median" breaks="returns `(median, spread)`" says=["expected a tuple (median, spread)"]
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


# %% wrong="synchronises before the warm-up" breaks="from an empty queue" says=["the warm-up's kernels are timed, too"]
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


# %% wrong="a spread of two at least" breaks="then `repeats` times (1 or more)" says=["once: raised"]
from functools import reduce


def measure_it_right(
    run: Callable, synchronise: Callable, clock: Callable, warmup: int = 3, repeats: int = 7
) -> tuple[float, float]:
    """The median and the spread (longest less shortest) of ``repeats`` times by ``clock``."""
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    times.sort()
    gaps = [late - early for early, late in zip(times, times[1:])]
    return statistics.median(times), reduce(lambda one, other: one + other, gaps)


# %% wrong="a warm-up at least" breaks="(0 is possible)" says=["run was called 4 times"]
def measure_it_right(
    run: Callable, synchronise: Callable, clock: Callable, warmup: int = 3, repeats: int = 7
) -> tuple[float, float]:
    """The median and the spread (longest less shortest) of ``repeats`` times by ``clock``."""
    for _ in range(max(warmup, 1)):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="rounds the times" says=["fractions: the times were rounded"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(round(clock() - begin))
    return statistics.median(times), max(times) - min(times)


# %% wrong="the first time and the last make the spread" says=["wherever in the list they are"]
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
    return statistics.median(times), abs(times[-1] - times[0])


# %% wrong="the quartiles make the spread" says=["not between quartiles"]
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
    return statistics.median(times), (
        statistics.quantiles(times, n=4)[2] - statistics.quantiles(times, n=4)[0]
        if len(times) > 1
        else 0
    )


# %% wrong="the clock starts before the queue is empty" says=["synchronise before the clock starts, not behind it"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        begin = clock()
        synchronise()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="half-way, in whole numbers" says=["an even number: with an even number of times, the median is half-way"]
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
    times.sort()
    n = len(times)
    median = times[n // 2] if n % 2 else (times[n // 2 - 1] + times[n // 2]) // 2
    return median, times[-1] - times[0]


# %% wrong="times in a default argument" says=["called again, it gives other numbers"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7, times=[]):
    for _ in range(warmup):
        run()
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="the launch is not timed" says=["the launch is part of the work"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        run()
        begin = clock()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="quartiles as NumPy has them" says=["not between quartiles"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    import numpy as np

    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), float(np.quantile(times, 0.75) - np.quantile(times, 0.25))


# %% wrong="five calls where nothing is said" breaks="Left out, they are 3 and 7" says=["warmup and repeats left out", "make 10"]
def measure_it_right(run, synchronise, clock, warmup=1, repeats=5):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="times in a float32 tensor" says=["fractions: median and spread are right to seven digits only"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = torch.empty(repeats)
    for n in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times[n] = clock() - begin
    return times.quantile(0.5).item(), (times.max() - times.min()).item()


# %% wrong="a time of 0 counts as 1" says=["a time of 0: a time may be 0"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin or 1)
    return statistics.median(times), max(times) - min(times)


# %% wrong="repeats follow from warmup" breaks="Left out, they are 3 and 7" says=["repeats left out: run was called 6 times"]
def measure_it_right(run, synchronise, clock, warmup=3, repeats=None):
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats or warmup + 4):
        synchronise()
        begin = clock()
        run()
        synchronise()
        times.append(clock() - begin)
    return statistics.median(times), max(times) - min(times)


# %% wrong="upper of the two for two times" says=["twice: with an even number of times, the median is half-way"]
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
    return (statistics.median(times) if len(times) != 2 else max(times)), max(times) - min(times)


# %% wrong="stops when the times agree" says=["equal times: run was called 5 times"]
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
        if len(times) > 2 and max(times) == min(times):
            break
    return statistics.median(times), max(times) - min(times)


# %% wrong="rounded to a digit" says=["fractions: the median of the times isn't 0.7"]
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
    return round(statistics.median(times), 1), max(times) - min(times)


# %% wrong="two quantiles" says=["once: raised ValueError", "repeats may be 1, and the one time is the median"]
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
    return statistics.quantiles(times, n=2)[0], max(times) - min(times)


# %% wrong="stamps in float64" breaks="perhaps in large whole numbers" says=["nanoseconds since 1970: a clock may tell large whole numbers"]
import numpy as np  # noqa: E402


def measure_it_right(run, synchronise, clock, warmup=3, repeats=7):
    for _ in range(warmup):
        run()
    stamps = np.zeros((repeats, 2))
    for n in range(repeats):
        synchronise()
        stamps[n, 0] = clock()
        run()
        synchronise()
        stamps[n, 1] = clock()
    times = stamps[:, 1] - stamps[:, 0]
    return float(np.median(times)), float(np.ptp(times))


# %% wrong="outliers are left out of the spread" says=["one slow call: the longest time counts in the spread"]
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
    median = statistics.median(times)
    usual = [time for time in times if time <= 5 * median] or times
    return median, max(usual) - min(usual)
