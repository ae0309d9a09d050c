# %% [markdown]
# Rules:
#
# - "serves for ever"
# - "until it is cancelled (then it ends)"
# - "It starts when it holds `most` requests"
# - "seconds after that first one was taken from the queue"
# - "with what came until then"
# - "in order of arrival"
# - "requests whose future is cancelled are left out"
# - "If none is left, `predict` isn't called"
# - "the sound requests of that batch still get their results"
# - "each poisoned one gets its own error"
# - "If `predict` raises"
# - "Measure time by `asyncio` alone"
# - "`predict(list of x)` returns a list of results"
#
# Admits:
#
# - "returns a list of results in the same order": two ask for the same
# - "What is in the queue already joins without waiting": wait is 0, three are there
# - "with `wait=0` a batch may be one request": wait is 0
# - "If none is left": all are cancelled
# - "the first request that is there, cancelled or not": the first is cancelled before it is taken
# - "What is in the queue already joins without waiting": ten at once
# - "If `predict` raises": an error of another kind

# %% wrong="one by one" breaks="with what came until then" says=["the batches were"]
async def dynamic_batching(queue, predict, most, wait):
    while True:
        x, future = await queue.get()
        if not future.cancelled():
            try:
                future.set_result(predict([x])[0])
            except Exception as error:
                future.set_exception(error)


# %% wrong="the clock starts anew with each request" breaks="seconds after that first one was taken from the queue" says=["the wait is counted from the first request", "two ask for the same: the batch [7, 7] started at 0.11 s, too late (most=8, wait=0.1): that is `wait` after its last request"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        while True:
            batch = [await queue.get()]
            while len(batch) < most:
                try:
                    batch.append(await asyncio.wait_for(queue.get(), wait))
                except TimeoutError:
                    break
            batch = [one for one in batch if not one[1].cancelled()]
            if not batch:
                continue
            try:
                for (_, future), y in zip(batch, predict([x for x, _ in batch])):
                    future.set_result(y)
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)

    return serve()


# %% wrong="sleeps, then takes what is there" breaks="It starts when it holds `most` requests" says=["a full batch starts at once: ", "started at"]
async def dynamic_batching(queue, predict, most, wait):
    while True:
        batch = [await queue.get()]
        await asyncio.sleep(wait)
        while len(batch) < most and not queue.empty():
            batch.append(queue.get_nowait())
        batch = [one for one in batch if not one[1].cancelled()]
        if not batch:
            continue
        try:
            for (_, future), y in zip(batch, predict([x for x, _ in batch])):
                future.set_result(y)
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)


# %% wrong="the whole batch gets the error" breaks="the sound requests of that batch still get their results" says=["only the poisoned one may fail"]
async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop().time
    while True:
        batch = [await queue.get()]
        end = clock() + wait
        while len(batch) < most:
            try:
                async with asyncio.timeout_at(end):
                    batch.append(await queue.get())
            except TimeoutError:
                break
        batch = [one for one in batch if not one[1].cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception as error:
            for _, future in batch:
                future.set_exception(error)
            continue
        for (_, future), y in zip(batch, results):
            future.set_result(y)


# %% wrong="cancelled requests are forgotten about" breaks="requests whose future is cancelled are left out" says=["a cancelled request was still handed to predict"]
async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop().time
    while True:
        batch = [await queue.get()]
        end = clock() + wait
        while len(batch) < most:
            try:
                batch.append(await asyncio.wait_for(queue.get(), end - clock()))
            except TimeoutError:
                break
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
            continue
        for (_, future), y in zip(batch, results):
            if not future.done():
                future.set_result(y)


# %% wrong="an empty batch goes to predict" breaks="If none is left, `predict` isn't called" says=["predict was called with an empty list"]
async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop().time
    while True:
        batch = [await queue.get()]
        end = clock() + wait
        while len(batch) < most:
            try:
                if queue.empty():
                    batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                else:
                    batch.append(queue.get_nowait())
            except TimeoutError:
                break
        batch = [one for one in batch if not one[1].cancelled()]
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
            continue
        for (_, future), y in zip(batch, results):
            future.set_result(y)


# %% wrong="the newest first" breaks="in order of arrival" says=["the order of arrival isn't kept"]
async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop().time
    while True:
        batch = [await queue.get()]
        end = clock() + wait
        while len(batch) < most:
            try:
                if queue.empty():
                    batch.insert(0, await asyncio.wait_for(queue.get(), end - clock()))
                else:
                    batch.insert(0, queue.get_nowait())
            except TimeoutError:
                break
        batch = [one for one in batch if not one[1].cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
            continue
        for (_, future), y in zip(batch, results):
            future.set_result(y)


# %% wrong="one batch, then the end" breaks="serves for ever" says=["it returned: serve for ever"]
async def dynamic_batching(queue, predict, most, wait):
    batch = [await queue.get()]
    await asyncio.sleep(wait)
    while not queue.empty():
        batch.append(queue.get_nowait())
    for (_, future), y in zip(batch, predict([x for x, _ in batch])):
        future.set_result(y)


# %% wrong="catches its own end" breaks="until it is cancelled (then it ends)" says=["is asyncio.CancelledError caught?"]
async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop().time
    while True:
        try:
            batch = [await queue.get()]
        except BaseException:
            continue
        end = clock() + wait
        while len(batch) < most:
            try:
                if queue.empty():
                    batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                else:
                    batch.append(queue.get_nowait())
            except TimeoutError:
                break
        batch = [one for one in batch if not one[1].cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
            continue
        for (_, future), y in zip(batch, results):
            future.set_result(y)


# %% right="a timer and a list"
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()

    def halve(group):
        if not group:
            return
        try:
            found = predict([x for x, _ in group])
        except Exception as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
            else:
                middle = len(group) // 2
                halve(group[:middle])
                halve(group[middle:])
        else:
            for number, y in enumerate(found):
                group[number][1].set_result(y)

    while True:
        waiting = [await queue.get()]
        limit = loop.time() + wait
        while len(waiting) < most and not queue.empty():
            waiting.append(queue.get_nowait())
        while len(waiting) < most:
            getter = asyncio.ensure_future(queue.get())
            done, _ = await asyncio.wait([getter], timeout=max(0, limit - loop.time()))
            if not done:
                getter.cancel()
                break
            waiting.append(getter.result())
        halve([(x, future) for x, future in waiting if not future.done()])


# %% right="timeout_at, and a helper that calls itself for each alone"
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        while True:
            requests = [await queue.get()]
            try:
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + wait):
                    while len(requests) < most:
                        requests.append(await queue.get())
            except TimeoutError:
                pass
            while len(requests) < most and not queue.empty():
                requests.append(queue.get_nowait())
            live = [pair for pair in requests if not pair[1].cancelled()]
            if live:
                answer(live)

    def answer(live):
        try:
            results = predict([x for x, _ in live])
        except Exception as error:
            if len(live) == 1:
                live[0][1].set_exception(error)
            else:
                for pair in live:
                    answer([pair])
        else:
            for (_, future), y in zip(live, results, strict=True):
                future.set_result(y)

    return serve()


# %% wrong="its own cancellation is swallowed" says=["cancelled while a batch waits for its second request, it doesn't end"]
def dynamic_batching(
    queue: asyncio.Queue, predict: Callable, most: int, wait: float
) -> Coroutine[None, None, None]:

    def answer(group):
        try:
            results = predict([x for x, _ in group])
        except Exception as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
            else:
                for one in group:
                    answer([one])
            return
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)

    async def serve():
        clock = asyncio.get_running_loop().time
        while True:
            batch = [await queue.get()]
            end = clock() + wait
            try:
                while len(batch) < most:
                    if queue.empty():
                        batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                    else:
                        batch.append(queue.get_nowait())
            except BaseException:
                pass
            batch = [one for one in batch if not one[1].cancelled()]
            if batch:
                answer(batch)

    return serve()


# %% wrong="a ValueError alone is poison" breaks="If `predict` raises" says=["an error of another kind", "nobody is served any more"]
def dynamic_batching(
    queue: asyncio.Queue, predict: Callable, most: int, wait: float
) -> Coroutine[None, None, None]:
    """A coroutine that serves pairs (x, future) of ``queue`` in batches of up to ``most``.

    ``wait``: seconds after the first request of a batch at which it starts at the latest. Write an
    ``async def`` inside and return its call, or make this an ``async def`` itself.
    """

    def answer(group):
        try:
            results = predict([x for x, _ in group])
        except ValueError as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
            else:
                for one in group:
                    answer([one])
            return
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)

    async def serve():
        clock = asyncio.get_running_loop().time
        while True:
            batch = [await queue.get()]
            end = clock() + wait
            try:
                while len(batch) < most:
                    if queue.empty():
                        batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                    else:
                        batch.append(queue.get_nowait())
            except TimeoutError:
                pass
            batch = [one for one in batch if not one[1].cancelled()]
            if batch:
                answer(batch)

    return serve()


# %% wrong="poison gets the first error" breaks="each poisoned one gets its own error" says=["got the error of another request"]
def dynamic_batching(
    queue: asyncio.Queue, predict: Callable, most: int, wait: float
) -> Coroutine[None, None, None]:
    """A coroutine that serves pairs (x, future) of ``queue`` in batches of up to ``most``.

    ``wait``: seconds after the first request of a batch at which it starts at the latest. Write an
    ``async def`` inside and return its call, or make this an ``async def`` itself.
    """

    def answer(group):
        try:
            results = predict([x for x, _ in group])
        except Exception as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
            else:
                for one in group:
                    try:
                        one[1].set_result(predict([one[0]])[0])
                    except Exception:
                        one[1].set_exception(error)
            return
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)

    async def serve():
        clock = asyncio.get_running_loop().time
        while True:
            batch = [await queue.get()]
            end = clock() + wait
            try:
                while len(batch) < most:
                    if queue.empty():
                        batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                    else:
                        batch.append(queue.get_nowait())
            except TimeoutError:
                pass
            batch = [one for one in batch if not one[1].cancelled()]
            if batch:
                answer(batch)

    return serve()


# %% wrong="measures by time" breaks="Measure time by `asyncio` alone" says=["too late (most=8, wait=0.1)"]
def dynamic_batching(
    queue: asyncio.Queue, predict: Callable, most: int, wait: float
) -> Coroutine[None, None, None]:
    """A coroutine that serves pairs (x, future) of ``queue`` in batches of up to ``most``.

    ``wait``: seconds after the first request of a batch at which it starts at the latest. Write an
    ``async def`` inside and return its call, or make this an ``async def`` itself.
    """

    def answer(group):
        try:
            results = predict([x for x, _ in group])
        except Exception as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
            else:
                for one in group:
                    answer([one])
            return
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)

    async def serve():
        import time

        clock = time.monotonic
        while True:
            batch = [await queue.get()]
            end = clock() + wait
            try:
                while len(batch) < most:
                    if queue.empty():
                        batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                    else:
                        batch.append(queue.get_nowait())
            except TimeoutError:
                pass
            batch = [one for one in batch if not one[1].cancelled()]
            if batch:
                answer(batch)

    return serve()


# %% wrong="a full batch waits as well" says=["a full one starts at once"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        await asyncio.sleep(max(0, end - loop.time()))
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
            for (_, future), y in zip(batch, results, strict=True):
                future.set_result(y)
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)


# %% wrong="looks for cancelled ones too early" says=["look then"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                pair = queue.get_nowait()
                if not pair[1].cancelled():
                    batch.append(pair)
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [pair for pair in batch if pair is not None]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
            for (_, future), y in zip(batch, results, strict=True):
                future.set_result(y)
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)


# %% wrong="the first poisoned one ends the batch" says=["one that fails doesn't end the others"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
            for (_, future), y in zip(batch, results, strict=True):
                future.set_result(y)
        except Exception:
            try:
                for x, future in batch:
                    future.set_result(predict([x])[0])
            except Exception as error:
                future.set_exception(error)


# %% wrong="a generator for predict" breaks="`predict(list of x)` returns a list of results" says=["predict was handed a generator; it takes a list"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict(x for x, _ in batch)
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
        else:
            for (_, future), y in zip(batch, results, strict=True):
                future.set_result(y)


# %% wrong="a cancelled one begins no batch" breaks="seconds after that first one was taken from the queue" says=["the first is cancelled before it is taken", "it counts until the batch starts"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        if batch[0][1].cancelled():
            continue
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
            continue
        for (_, future), result in zip(batch, results):
            future.set_result(result)


# %% wrong="wait 0 takes one" breaks="with what came until then" says=["what is in the queue already joins, whatever `wait` is"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + wait
            while wait and len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results):
                    future.set_result(result)

    return serve()


# %% wrong="looks results up by x" breaks="`predict(list of x)` returns a list of results" says=["don't look them up by x"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + wait
            while len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)
            else:
                said = {x: y for (x, _), y in zip(batch, results)}
                for x, future in batch:
                    future.set_result(said[x])

    return serve()


# %% wrong="results kept" breaks="`predict(list of x)` returns a list of results" says=["nor keep them"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        seen = {}
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + wait
            while len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)
            else:
                for (x, future), result in zip(batch, results):
                    future.set_result(seen.setdefault(x, result))

    return serve()


# %% wrong="falsy results" breaks="`predict(list of x)` returns a list of results" says=["None and 0 are results as well"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + wait
            while len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results):
                    result and future.set_result(result)

    return serve()


# %% wrong="None is no result" breaks="`predict(list of x)` returns a list of results" says=["request 1 never got an answer", "None and 0 are results as well"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + wait
            while len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results):
                    result is None or future.set_result(result)

    return serve()


# %% wrong="words of the error alone" breaks="each poisoned one gets its own error" says=["hand on the error itself"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + wait
            while len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(RuntimeError(str(error)))
            else:
                for (_, future), result in zip(batch, results):
                    future.set_result(result)

    return serve()


# %% wrong="list alone is unwrapped" breaks="`predict(list of x)` returns a list of results" says=["where predict gave [5]: hand on that"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + wait
            while len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results):
                    future.set_result(result[0] if isinstance(result, list) else result)

    return serve()


# %% wrong="wait at most a second" breaks="seconds after that first one was taken from the queue" says=["a long wait: the batches were [[1], [2]]: it started too early"]
def dynamic_batching(queue, predict, most, wait):
    async def serve():
        loop = asyncio.get_running_loop()
        while True:
            batch = [await queue.get()]
            end = loop.time() + min(wait, 1)
            while len(batch) < most:
                if not queue.empty():
                    batch.append(queue.get_nowait())
                    continue
                left = end - loop.time()
                if left <= 0:
                    break
                try:
                    batch.append(await asyncio.wait_for(queue.get(), left))
                except TimeoutError:
                    break
            batch = [pair for pair in batch if not pair[1].cancelled()]
            if not batch:
                continue
            try:
                results = predict([x for x, _ in batch])
            except Exception:
                for x, future in batch:
                    try:
                        future.set_result(predict([x])[0])
                    except Exception as error:
                        future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results):
                    future.set_result(result)

    return serve()


# %% wrong="requests of 0 are none" says=["a request whose x is 0 is a request"]
def dynamic_batching(
    queue: asyncio.Queue, predict: Callable, most: int, wait: float
) -> Coroutine[None, None, None]:
    def answer(group):
        try:
            results = predict([x for x, _ in group])
        except Exception as error:
            if len(group) == 1:
                group[0][1].set_exception(error)
            else:
                for one in group:
                    answer([one])
            return
        for (_, future), result in zip(group, results, strict=True):
            future.set_result(result)

    async def serve():
        clock = asyncio.get_running_loop().time
        while True:
            batch = [await queue.get()]
            end = clock() + wait
            try:
                while len(batch) < most:
                    if queue.empty():
                        batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                    else:
                        batch.append(queue.get_nowait())
            except TimeoutError:
                pass
            batch = [one for one in batch if one[0] and not one[1].cancelled()]
            if batch:
                answer(batch)

    return serve()


# %% wrong="takes a TimeoutError of predict for the clock's" breaks="If `predict` raises" says=["that TimeoutError was predict's, not the clock's"]
async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop().time
    while True:
        batch = [await queue.get()]
        end = clock() + wait
        try:
            while len(batch) < most and (clock() < end or not queue.empty()):
                if queue.empty():
                    batch.append(await asyncio.wait_for(queue.get(), end - clock()))
                else:
                    batch.append(queue.get_nowait())
        except TimeoutError:
            pass
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            for (_, future), y in zip(batch, predict([x for x, _ in batch]), strict=True):
                future.set_result(y)
        except TimeoutError:
            continue
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)


# %% wrong="a batch that came to nothing keeps its places" says=["all are cancelled, and a batch of others follows: ", "begin each anew"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    batch = []
    while True:
        batch.append(await queue.get())
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        live = [(x, future) for x, future in batch if not future.cancelled()]
        if not live:
            continue
        batch = live
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    result = predict([x])[0]
                except Exception as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)
        batch = []


# %% wrong="single ones for good after a bad batch" says=["two sound ones after a poisoned one: ", "one bad batch doesn't end batching"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            most = 1
            for x, future in batch:
                try:
                    result = predict([x])[0]
                except Exception as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)


# %% wrong="an error that nobody has alone is everybody's" says=["too many for predict at once, none is poisoned: request 1 is sound"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception as whole:
            sound = []
            for x, future in batch:
                try:
                    result = predict([x])[0]
                except Exception as error:
                    future.set_exception(error)
                else:
                    sound.append((future, result))
            for future, result in sound:
                if len(sound) == len(batch):
                    future.set_exception(whole)
                else:
                    future.set_result(result)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)


# %% wrong="alone, the list in place of its entry" says=["one is poisoned: ", "each request gets the entry of its own"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    result = predict([x])
                except Exception as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)


# %% wrong="a poisoned request is cancelled" says=["is poisoned, and was cancelled", "by `set_exception`"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    result = predict([x])[0]
                except Exception:
                    future.cancel()
                else:
                    future.set_result(result)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)


# %% wrong="cancelled ones in the queue have no place in a batch" breaks="It starts when it holds `most` requests" says=["a cancelled request takes a place until its batch starts"]
async def dynamic_batching(queue, predict, most, wait):
    loop = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = loop.time() + wait
        while len(batch) < most:
            try:
                pair = queue.get_nowait()
                if not pair[1].cancelled():
                    batch.append(pair)
                continue
            except asyncio.QueueEmpty:
                pass
            left = end - loop.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                break
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
        else:
            for (_, future), y in zip(batch, results, strict=True):
                future.set_result(y)


# %% wrong="the computer's clock, asked again and again" breaks="Measure time by `asyncio` alone" says=["the rest never came to predict", "asyncio.get_running_loop().time()"]
import time


async def dynamic_batching(queue, predict, most, wait):
    while True:
        batch = [await queue.get()]
        end = time.monotonic() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - time.monotonic()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                pass
        batch = [(x, future) for x, future in batch if not future.cancelled()]
        if not batch:
            continue
        try:
            results = predict([x for x, _ in batch])
        except Exception:
            for x, future in batch:
                try:
                    future.set_result(predict([x])[0])
                except Exception as error:
                    future.set_exception(error)
        else:
            for (_, future), y in zip(batch, results, strict=True):
                future.set_result(y)


# %% right="halves of a batch, until the poisoned one is alone"
def answer(predict, live):
    """Fewer calls than one for each: sound halves are answered together."""
    try:
        results = predict([x for x, _ in live])
    except Exception as error:
        if len(live) == 1:
            live[0][1].set_exception(error)
            return
        middle = len(live) // 2
        answer(predict, live[:middle])
        answer(predict, live[middle:])
    else:
        for (_, future), y in zip(live, results, strict=True):
            future.set_result(y)


async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = clock.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - clock.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                pass
        live = [(x, future) for x, future in batch if not future.done()]
        if live:
            answer(predict, live)


# %% wrong="with wait=0 all that is there is one batch" breaks="It starts when it holds `most` requests" says=["wait is 0, three are there: ", "more than most"]
def answer(predict, live):
    """Fewer calls than one for each: sound halves are answered together."""
    try:
        results = predict([x for x, _ in live])
    except Exception as error:
        if len(live) == 1:
            live[0][1].set_exception(error)
            return
        middle = len(live) // 2
        answer(predict, live[:middle])
        answer(predict, live[middle:])
    else:
        for (_, future), y in zip(live, results, strict=True):
            future.set_result(y)


async def dynamic_batching(queue, predict, most, wait):
    clock = asyncio.get_running_loop()
    while True:
        batch = [await queue.get()]
        end = clock.time() + wait
        while len(batch) < most:
            if not queue.empty():
                batch.append(queue.get_nowait())
                continue
            left = end - clock.time()
            if left <= 0:
                break
            try:
                batch.append(await asyncio.wait_for(queue.get(), left))
            except TimeoutError:
                pass
        while wait == 0 and not queue.empty():
            batch.append(queue.get_nowait())
        live = [(x, future) for x, future in batch if not future.done()]
        if live:
            answer(predict, live)
