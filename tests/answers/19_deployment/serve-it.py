# %% [markdown]
# Rules:
#
# - "`GET /health` answers"
# - "of mode RGB"
# - "Two requests have to be able to run it at the same time"
# - "without waiting for its end"
# - "width times height is more than `most_pixels`"
# - "refused without decoding"
# - "it isn't a whole JPEG or PNG file"
# - "(empty, text, a GIF, cut, damaged)"
# - "a bug of ours | 500, as FastAPI does by itself"
# - "which returns a FastAPI application"
# - "the answer holds its words"
# - "the answer holds its words, if it has any"
# - "All but the 500 answer with"
# - "nothing around it"
# - "The answer is what `detect(picture)` returns"
# - "the body is longer than `most_bytes`"
# - "`detect` is called for each request"
#
# Admits:
#
# - "cut, damaged": a JPEG cut in half
# - "Exactly `most_bytes` and exactly `most_pixels` are allowed": a body of exactly most_bytes
# - "`detect` gets a PIL picture of mode RGB": a picture with a palette
# - "`detect` raises anything else": a picture for which detect raises
# - "`detect` raises a `ValueError`": a picture that detect refuses
# - "also if its file came before": the same file again

# %% wrong="the naive server" breaks="`GET /health` answers" says=["GET /health has status 404", "a body of one byte more: status 200", "mode L"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.post("/detect")
    async def answer(request: Request):
        return detect(Image.open(io.BytesIO(await request.body())))

    return app


# %% wrong="reads everything, decodes, then looks" breaks="refused without decoding" says=["the picture was decoded before its size was looked at", "it waited for the rest of the body"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG")).convert("RGB")
        except Exception:
            raise HTTPException(400, "no picture")
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, "too many pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = await request.body()
        if len(content) > most_bytes:
            raise HTTPException(413, "too long")
        return await run_in_threadpool(look, content)

    return app


# %% wrong="works in the event loop" breaks="Two requests have to be able to run it at the same time" says=["while detect works in the event loop"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, "too long")
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            size = picture.width * picture.height
            if size <= most_pixels:
                picture = picture.convert("RGB")
        except Exception:
            raise HTTPException(400, "no picture")
        if size > most_pixels:
            raise HTTPException(413, "too many pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))

    return app


# %% wrong="blames the client for everything" breaks="a bug of ours | 500, as FastAPI does by itself" says=["that blames the client for a bug of the detector", "a picture of one column more: status 400"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            if picture.width * picture.height > most_pixels:
                raise HTTPException(413, "too many pixels")
            return detect(picture.convert("RGB"))
        except Exception as error:
            raise HTTPException(400, "something is wrong: " + str(error))

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, "too long")
        return await run_in_threadpool(look, content)

    return app


# %% wrong="any format, any mode, and the limits are off by one" breaks="of mode RGB" says=["a BMP: status 200", "mode L", "a body of exactly most_bytes: status 413", "a picture of exactly most_pixels: status 413"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content))
            fits = picture.width * picture.height < most_pixels
            if fits:
                picture.load()
        except Exception:
            raise HTTPException(400, "no picture")
        if not fits:
            raise HTTPException(413, "too many pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) >= most_bytes:
                raise HTTPException(413, "too long")
        return await run_in_threadpool(look, content)

    return app


# %% wrong="believes Content-Length" breaks="without waiting for its end" says=["a body in chunks, too long, without an end"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            picture = picture.convert("RGB") if fits else None
        except Exception:
            raise HTTPException(400, "no picture")
        if picture is None:
            raise HTTPException(413, "too many pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        if int(request.headers.get("content-length", 0)) > most_bytes:
            raise HTTPException(413, "too long")
        return await run_in_threadpool(look, await request.body())

    return app


# %% wrong="catches OSError alone, at opening alone" breaks="(empty, text, a GIF, cut, damaged)" says=["of 120 damaged files some got 500"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except OSError:
            raise HTTPException(400, "no picture")
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, "too many pixels")
        picture = picture.convert("RGB")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, "too long")
        return await run_in_threadpool(look, content)

    return app


# %% wrong="makes no application" breaks="which returns a FastAPI application" says=["there is no server to ask"]
def serve_it(detect, most_bytes, most_pixels):
    return detect


# %% right="JSONResponse, and a def endpoint behind a dependency that reads"
def serve_it(detect, most_bytes, most_pixels):
    from fastapi import Depends
    from fastapi.responses import JSONResponse

    app = FastAPI()
    app.get("/health")(lambda: JSONResponse({"status": "ok"}))

    async def body(request: Request):
        parts, size = [], 0
        if request.headers.get("content-length", "0").isdigit():
            size = -max(0, int(request.headers.get("content-length", "0")) - most_bytes)
        if size < 0:
            raise HTTPException(status_code=413, detail="the body is too long")
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > most_bytes:
                raise HTTPException(status_code=413, detail="the body is too long")
        return b"".join(parts)

    def refuse(status, words):
        return JSONResponse({"detail": words}, status_code=status)

    @app.post("/detect")
    def answer(content: bytes = Depends(body)):
        try:
            picture = Image.open(io.BytesIO(content), formats=["PNG", "JPEG"])
        except Exception:
            return refuse(400, "neither JPEG nor PNG")
        width, height = picture.size
        if width * height > most_pixels:
            return refuse(413, f"{width} by {height} pixels are too many")
        try:
            picture.load()
            picture = picture.convert("RGB")
        except Exception:
            return refuse(400, "the file is damaged")
        try:
            found = detect(picture)
        except ValueError as error:
            return refuse(422, f"refused: {error}")
        return JSONResponse(found)

    return app


# %% wrong="OSError alone, at opening and decoding" breaks="it isn't a whole JPEG or PNG file" says=["at opening Pillow raises a ValueError"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except OSError as error:
            raise HTTPException(400, "no JPEG or PNG") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, "too many pixels")
        try:
            picture = picture.convert("RGB")
        except OSError as error:
            raise HTTPException(400, "damaged") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, "too long")
        return await run_in_threadpool(work, content)

    return app


# %% wrong="squares the longer side" breaks="width times height is more than `most_pixels`" says=["a long strip of exactly most_pixels: status 413"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, "no JPEG or PNG") from error
        if max(picture.size) ** 2 > most_pixels:
            raise HTTPException(413, "too many pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, "damaged") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, "too long")
        return await run_in_threadpool(work, content)

    return app


# %% right="answers by JSONResponse, and asyncio.to_thread"
def serve_it(detect, most_bytes, most_pixels):
    from fastapi.responses import JSONResponse

    app = FastAPI()
    app.get("/health")(lambda: {"status": "ok"})

    def no(status, words):
        return JSONResponse({"detail": words}, status_code=status)

    async def answer(request: Request):
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            parts.append(part)
            if size > most_bytes:
                return no(413, "the file is too long")
        file = io.BytesIO(b"".join(parts))
        try:
            picture = Image.open(file, formats=["PNG", "JPEG"])
            w, h = picture.size
            if w * h > most_pixels:
                return no(413, f"{w} by {h} is too large")
            picture = await asyncio.to_thread(picture.convert, "RGB")
        except Image.DecompressionBombError:
            return no(413, "a bomb")
        except Exception as error:
            return no(400, "not a whole picture: " + type(error).__name__)
        try:
            return await asyncio.to_thread(detect, picture)
        except ValueError as error:
            return no(422, str(error))

    app.post("/detect", response_model=None)(answer)
    return app


# %% wrong="the words of detect are lost" breaks="the answer holds its words" says=["the words of detect are missing"]
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    """An application with GET /health and POST /detect that refuses what it must, in words."""
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            picture = picture.convert("RGB") if fits else None
        except Exception as error:
            raise HTTPException(400, "this isn't a whole JPEG or PNG file") from error
        if picture is None:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, "detect refused it") from error

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(look, content)

    return app


# %% wrong="refuses without words" breaks="All but the 500 answer with" says=["as HTTPException makes it"]
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    """An application with GET /health and POST /detect that refuses what it must, in words."""
    from fastapi import Response

    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            picture = picture.convert("RGB") if fits else None
        except Exception as error:
            raise HTTPException(400, "this isn't a whole JPEG or PNG file") from error
        if picture is None:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                return Response(status_code=413)
        return await run_in_threadpool(look, content)

    return app


# %% wrong="a form around the file" breaks="nothing around it" says=["without a form"]
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    """An application with GET /health and POST /detect that refuses what it must, in words."""
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            picture = picture.convert("RGB") if fits else None
        except Exception as error:
            raise HTTPException(400, "this isn't a whole JPEG or PNG file") from error
        if picture is None:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        form = await request.form()
        content = await form["file"].read()
        if len(content) > most_bytes:
            raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(look, content)

    return app


# %% wrong="counts each part alone" breaks="the body is longer than `most_bytes`" says=["a body in chunks, too long, without an end: expected 413"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            width, height = picture.size
        except Exception as error:
            raise HTTPException(400, f"no JPEG or PNG: {error}")
        if width * height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"damaged: {error}")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))

    @app.post("/detect")
    async def answer(request: Request):
        parts = []
        size = 0
        async for part in request.stream():
            size = len(part)
            if size > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
            parts.append(part)
        return await run_in_threadpool(work, b"".join(parts))

    return app


# %% wrong="says 500 in the words of the bug" says=["the words of a bug of ours"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            width, height = picture.size
        except Exception as error:
            raise HTTPException(400, f"no JPEG or PNG: {error}")
        if width * height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"damaged: {error}")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))
        except Exception as error:
            raise HTTPException(500, str(error))

    @app.post("/detect")
    async def answer(request: Request):
        parts = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
            parts.append(part)
        return await run_in_threadpool(work, b"".join(parts))

    return app


# %% wrong="catches OSError alone at decoding" says=["a PNG with a chunk cut short behind its pixels: status 500", "at decoding Pillow raises a ValueError"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            width, height = picture.size
        except Exception as error:
            raise HTTPException(400, f"no JPEG or PNG: {error}")
        if width * height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except OSError as error:
            raise HTTPException(400, f"damaged: {error}")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error))

    @app.post("/detect")
    async def answer(request: Request):
        parts = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
            parts.append(part)
        return await run_in_threadpool(work, b"".join(parts))

    return app


# %% wrong="decodes where detect is called" says=["a picture for which detect raises: OSError: status 400", "Pillow, at decoding"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            width, height = picture.size
        except Exception as error:
            raise HTTPException(400, f"no JPEG or PNG: {error}")
        if width * height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            return detect(picture.convert("RGB"))
        except ValueError as error:
            raise HTTPException(422, str(error))
        except OSError as error:
            raise HTTPException(400, f"damaged: {error}")

    @app.post("/detect")
    async def answer(request: Request):
        parts = []
        size = 0
        async for part in request.stream():
            size += len(part)
            if size > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
            parts.append(part)
        return await run_in_threadpool(work, b"".join(parts))

    return app


# %% wrong="OSError and ValueError at the decoding" breaks="(empty, text, a GIF, cut, damaged)" says=["a PNG with an unknown compression behind its pixels", "at decoding Pillow raises a SyntaxError"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except (OSError, ValueError) as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="only ValueError itself" breaks="the answer holds its words" says=["one that detect refuses by a UnicodeError: status 500, expected 422: a UnicodeError is a ValueError as well"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="TypeError is the client's" breaks="a bug of ours | 500, as FastAPI does by itself" says=["a picture for which detect raises: TypeError: status 422, expected 500"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except (ValueError, TypeError) as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="arithmetic is the client's" breaks="a bug of ours | 500, as FastAPI does by itself" says=["a picture for which detect raises: ZeroDivisionError"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except (ValueError, ArithmeticError) as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="RuntimeError is the client's" breaks="a bug of ours | 500, as FastAPI does by itself" says=["a picture for which detect raises: RuntimeError"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except (ValueError, RuntimeError) as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="WebP and BMP too" breaks="it isn't a whole JPEG or PNG file" says=["a BMP: status 200", "a WEBP: status 200"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            picture = Image.open(
                io.BytesIO(content), formats=("JPEG", "PNG", "BMP", "WEBP", "TIFF")
            )
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="by the first bytes, formats free" breaks="it isn't a whole JPEG or PNG file" says=["a TIFF: status 200"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            if content[:1] not in (b"\x89", b"\xff", b"B", b"R", b"I", b"M"):
                raise ValueError("no picture")
            picture = Image.open(io.BytesIO(content))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="results kept by size" breaks="The answer is what `detect(picture)` returns" says=["an earlier picture of this size had these"]
def serve_it(detect, most_bytes, most_pixels):
    app, seen = FastAPI(), {}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            if picture.size not in seen:
                seen[picture.size] = detect(picture)
            return seen[picture.size]
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="the body lies on the application" says=["one was answered with the other's picture"]
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    app = FastAPI()

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            picture = picture.convert("RGB") if fits else None
        except Exception as error:
            raise HTTPException(400, "this isn't a whole JPEG or PNG file") from error
        if picture is None:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        app.state.content = content
        await asyncio.sleep(0.05)
        return await run_in_threadpool(look, app.state.content)

    return app


# %% wrong="converts the modes that it thought of" says=["a picture of black and white, a bit each: detect was handed a picture of mode 1"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception:
            raise HTTPException(400, "not a JPEG or PNG file") from None
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture.load()
            if picture.mode in ("L", "P", "RGBA", "CMYK"):
                picture = picture.convert("RGB")
        except Exception:
            raise HTTPException(400, "a damaged file") from None
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from None

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="the first argument of the error" breaks="the answer holds its words, if it has any" says=["one that detect refuses without a word: status 500, expected 422", "`str(error)` works"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    def health():
        return {"status": "ok"}

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            pixels = picture.width * picture.height
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if pixels > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, error.args[0]) from error

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(look, bytes(content))

    return app


# %% wrong="its own 413 is caught" says=["a picture of one column more: status 400, expected 413: an HTTPException is an Exception as well"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    def health():
        return {"status": "ok"}

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            if picture.width * picture.height > most_pixels:
                raise HTTPException(413, f"more than {most_pixels} pixels")
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"not a whole JPEG or PNG file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(look, bytes(content))

    return app


# %% wrong="one buffer for all requests" says=["what an earlier request sent doesn't count"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    def health():
        return {"status": "ok"}

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            pixels = picture.width * picture.height
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if pixels > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    content = bytearray()

    @app.post("/detect")
    async def answer(request: Request):
        async for part in request.stream():
            content.extend(part)
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        whole = bytes(content)
        content.clear()
        return await run_in_threadpool(look, whole)

    return app


# %% right="a word of its own where the error has none"
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    @app.get("/health")
    def health():
        return {"status": "ok"}

    def look(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            pixels = picture.width * picture.height
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if pixels > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error) or "refused") from error

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(look, bytes(content))

    return app


# %% wrong="one buffer, emptied at each request" says=["a body in two parts, another request in between", "keep what belongs to a request in names of its own function"]
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    app = FastAPI()
    content = bytearray()  # one allocation for all requests

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.post("/detect")
    async def answer(request: Request):
        content.clear()
        async for part in request.stream():
            content.extend(part)
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="RGB pictures stay lazy" breaks="(empty, text, a GIF, cut, damaged)" says=["a PNG cut in half: status 500, expected 400: decode it inside the `try`"]
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    app = FastAPI()

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            if picture.mode != "RGB":
                picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="one counter for all requests" breaks="the body is longer than `most_bytes`" says=["a body in two parts, another request in between: status 413"]
def serve_it(detect: Callable, most_bytes: int, most_pixels: int) -> FastAPI:
    app = FastAPI()
    size = 0

    @app.get("/health")
    async def health():
        return {"status": "ok"}

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
        except Exception as error:
            raise HTTPException(400, f"not a JPEG or PNG file: {error}") from error
        if picture.width * picture.height > most_pixels:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            picture = picture.convert("RGB")
        except Exception as error:
            raise HTTPException(400, f"a damaged file: {error}") from error
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.post("/detect")
    async def answer(request: Request):
        nonlocal size
        size, content = 0, bytearray()
        async for part in request.stream():
            content.extend(part)
            size += len(part)
            if size > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% right="classes inside, with an error of their own"
def serve_it(detect, most_bytes, most_pixels):
    from fastapi.responses import JSONResponse

    class Refused(Exception):
        def __init__(self, status, words):
            self.status, self.words = status, words

    class Service:
        async def health(self):
            return {"status": "ok"}

        async def read(self, request):
            parts, left = [], most_bytes
            async for part in request.stream():
                left -= len(part)
                if left < 0:
                    raise Refused(413, f"at most {most_bytes} bytes, please")
                parts.append(part)
            return io.BytesIO(b"".join(parts))

        def decoded(self, file):
            try:
                picture = Image.open(file, formats=("JPEG", "PNG"))
                width, height = picture.size
            except Exception:
                raise Refused(400, "neither JPEG nor PNG") from None
            if width * height > most_pixels:
                raise Refused(413, f"at most {most_pixels} pixels, please")
            try:
                return picture.convert("RGB")
            except Exception as error:
                raise Refused(400, f"damaged: {error}") from None

        def look(self, file):
            picture = self.decoded(file)
            try:
                return detect(picture)
            except ValueError as error:
                raise Refused(422, str(error)) from error

        async def detect(self, request: Request):
            return await asyncio.to_thread(self.look, await self.read(request))

    async def refuse(request, error):
        return JSONResponse({"detail": error.words}, status_code=error.status)

    service = Service()
    app = FastAPI(exception_handlers={Refused: refuse})
    app.add_api_route("/health", service.health, methods=["GET"])
    app.add_api_route("/detect", service.detect, methods=["POST"])
    return app


# %% wrong="answers kept by the file's bytes" breaks="`detect` is called for each request" says=["the same file again: the answer to the same file before came back"]
def serve_it(detect, most_bytes, most_pixels):
    from functools import lru_cache

    app = FastAPI()

    @lru_cache(maxsize=128)
    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            picture = picture.convert("RGB") if fits else None
        except Exception as error:
            raise HTTPException(400, f"not a whole JPEG or PNG file: {error}") from error
        if picture is None:
            raise HTTPException(413, f"more than {most_pixels} pixels")
        try:
            return detect(picture)
        except ValueError as error:
            raise HTTPException(422, str(error)) from error

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app


# %% wrong="the file is opened where detect is called" breaks="the answer holds its words" says=["a picture that detect refuses: status 400, expected 422: it was `detect` that raised this ValueError", "that blames the client"]
def serve_it(detect, most_bytes, most_pixels):
    app = FastAPI()

    def work(content):
        try:
            picture = Image.open(io.BytesIO(content), formats=("JPEG", "PNG"))
            fits = picture.width * picture.height <= most_pixels
            if fits:
                return detect(picture.convert("RGB"))
        except (ValueError, OSError, SyntaxError) as error:
            raise HTTPException(400, f"not a whole JPEG or PNG file: {error}") from error
        raise HTTPException(413, f"more than {most_pixels} pixels")

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.post("/detect")
    async def answer(request: Request):
        content = bytearray()
        async for part in request.stream():
            content += part
            if len(content) > most_bytes:
                raise HTTPException(413, f"more than {most_bytes} bytes")
        return await run_in_threadpool(work, bytes(content))

    return app
