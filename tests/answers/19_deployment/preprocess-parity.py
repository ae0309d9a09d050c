# %% [markdown]
# Rules:
#
# - "`train` is right, with red first or blue first, whatever the range of its values"
# - "`serve` does the same up to rounding"
# - "has any of these faults, perhaps several"
# - "Return the set of their names"
# - "its three channels come in the opposite order"
# - "black and white have other values than in `train`"
# - "or by bilinear interpolation of four neighbours"
# - "it raises an exception"
# - "gives something else (NaN, for instance)"
# - "for a picture of mode `L`, `P` or `RGBA`, perhaps only one of them"
# - "With `RGBA` that may happen only where the picture is transparent"
#
# Admits:
#
# - "return a float32 or float64 tensor": double
# - "empty if there is none": no fault
# - "up to rounding": float rounded
# - "perhaps several": signed nearest crash
# - "`train` is right, with red first or blue first, whatever the range of its values": -1 to 1 in training

# %% wrong="compares numbers, and calls everything by the first name" breaks="its three channels come in the opposite order" says=["found, though it isn't there: channel order"]
def preprocess_parity(train, serve):
    red, white = Image.new("RGB", (32, 32), "red"), Image.new("RGB", (32, 32), "white")
    found = set()
    if not torch.equal(train(red), serve(red)):
        found.add("channel order")
    if not torch.equal(train(white), serve(white)):
        found.add("scale")
    return found


# %% wrong="knows training instead of asking it" breaks="`train` is right, with red first or blue first, whatever the range of its values" says=["training has blue first here", "compare with `train`"]
def preprocess_parity(train, serve):
    found = set()
    plain = {c: Image.new("RGB", (32, 32), c) for c in ("red", "black", "white")}
    if serve(plain["red"]).mean((1, 2)).argmax() != 0:
        found.add("channel order")
    black, white = serve(plain["black"]).mean(), serve(plain["white"]).mean()
    if abs(black) > 0.01 or abs(white - 1) > 0.01:
        found.add("scale")
    noise = np.random.default_rng(0).integers(0, 256, (150, 110), dtype=np.uint8)
    noise = Image.fromarray(noise).convert("RGB")
    if ((serve(noise) - black) / (white - black) - train(noise)).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = drawn.picture_of(3).convert(mode)
        try:
            if not torch.equal(serve(other), serve(other.convert("RGB"))):
                found.add("mode")
        except Exception:
            found.add("mode")
    return found


# %% wrong="no tolerance for rounding" breaks="`serve` does the same up to rounding" says=["differs by rounding alone"]
def preprocess_parity(train, serve):
    found = set()
    plain = {c: Image.new("RGB", (32, 32), c) for c in ("red", "black", "white")}
    if serve(plain["red"]).mean((1, 2)).argmax() != train(plain["red"]).mean((1, 2)).argmax():
        found.add("channel order")
    black, white = serve(plain["black"]).mean(), serve(plain["white"]).mean()
    if abs(black) > 0.01 or abs(white - 1) > 0.01:
        found.add("scale")
    noise = np.random.default_rng(0).integers(0, 256, (150, 110), dtype=np.uint8)
    noise = Image.fromarray(noise).convert("RGB")
    if not torch.equal((serve(noise) - black) / (white - black), train(noise)):
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = drawn.picture_of(3).convert(mode)
        try:
            if not torch.equal(serve(other), serve(other.convert("RGB"))):
                found.add("mode")
        except Exception:
            found.add("mode")
    return found


# %% wrong="a chessboard of 64 for antialias, grey alone for mode" breaks="or by bilinear interpolation of four neighbours" says=["not found: antialias (bilinear without antialias)", "not found: mode (P alone)", "not found: mode (RGBA alone)"]
def preprocess_parity(train, serve):
    found = set()
    plain = {c: Image.new("RGB", (32, 32), c) for c in ("red", "black", "white")}
    if serve(plain["red"]).mean((1, 2)).argmax() != train(plain["red"]).mean((1, 2)).argmax():
        found.add("channel order")
    black, white = serve(plain["black"]).mean(), serve(plain["white"]).mean()
    if abs(black) > 0.01 or abs(white - 1) > 0.01:
        found.add("scale")
    board = (np.indices((64, 64)).sum(0) % 2 * 255).astype(np.uint8)
    board = Image.fromarray(board).convert("RGB")
    if ((serve(board) - black) / (white - black) - train(board)).abs().max() > 0.05:
        found.add("antialias")
    other = drawn.picture_of(3).convert("L")
    try:
        if not torch.equal(serve(other), serve(other.convert("RGB"))):
            found.add("mode")
    except Exception:
        found.add("mode")
    return found


# %% wrong="white alone for the scale" breaks="has any of these faults, perhaps several" says=["it has to be seen through the other faults"]
def preprocess_parity(train, serve):
    found = set()
    plain = {c: Image.new("RGB", (32, 32), c) for c in ("red", "black", "white")}
    if serve(plain["red"]).mean((1, 2)).argmax() != train(plain["red"]).mean((1, 2)).argmax():
        found.add("channel order")
    if abs(serve(plain["white"]).mean() - train(plain["white"]).mean()) > 0.01:
        found.add("scale")
    noise = np.random.default_rng(0).integers(0, 256, (150, 110), dtype=np.uint8)
    noise = Image.fromarray(noise).convert("RGB")
    if (serve(noise) - train(noise)).abs().max() > 0.05 and not found:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = drawn.picture_of(3).convert(mode)
        try:
            if not torch.equal(serve(other), serve(other.convert("RGB"))):
                found.add("mode")
        except Exception:
            found.add("mode")
    return found


# %% wrong="a list" breaks="Return the set of their names" says=["a list came back, not a set"]
def preprocess_parity(train, serve):
    grey = drawn.picture_of(3).convert("L")
    return [] if torch.equal(serve(grey), train(grey)) else ["mode"]


# %% right="photographs and fits"
def preprocess_parity(train, serve):
    faults_found = []
    ramp = np.arange(256, dtype=np.uint8).repeat(4).reshape(32, 32)
    stripes = np.zeros((32, 32, 3), dtype=np.uint8)
    stripes[..., 0], stripes[..., 2] = 180, 60
    a, b = train(Image.fromarray(stripes)), serve(Image.fromarray(stripes))
    if (a[0].mean() > a[2].mean()) != (b[0].mean() > b[2].mean()):
        faults_found.append("channel order")
    ramp = Image.merge("RGB", [Image.fromarray(ramp)] * 3)
    x, y = serve(ramp).double().flatten(), train(ramp).double().flatten()
    slope = ((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum()
    offset = y.mean() - slope * x.mean()
    if (x - y).abs().max() > 0.02 * (y.max() - y.min()):
        faults_found.append("scale")
    generator = np.random.default_rng(7)
    coarse = Image.fromarray(generator.integers(0, 256, (201, 333), dtype=np.uint8))
    coarse = Image.merge("RGB", [coarse] * 3)
    gap = (serve(coarse).double() * slope + offset - train(coarse).double()).abs().mean()
    if gap > 0.03:
        faults_found.append("antialias")

    def agrees(picture):
        try:
            gap = (serve(picture) - serve(picture.convert("RGB"))).abs().max() * abs(slope)
            return bool(gap < 0.02 * (y.max() - y.min()))
        except Exception:
            return False

    def as_mode(number, mode):
        picture = drawn.picture_of(number).convert(mode)
        if mode == "RGBA":
            picture.putalpha(drawn.picture_of(number).convert("L"))
        return picture

    if not all(agrees(as_mode(n, m)) for n in (0, 4) for m in ("L", "P", "RGBA")):
        faults_found.append("mode")
    return set(faults_found)


# %% wrong="an exception escapes" breaks="it raises an exception" says=["raised RuntimeError", "mode: "]
def preprocess_parity(train, serve):
    grey = drawn.picture_of(3).convert("L")
    return set() if torch.allclose(serve(grey), train(grey), atol=0.02) else {"mode"}


# %% wrong="believes that training has 0 to 1" breaks="black and white have other values than in `train`" says=["training has values from -1 to 1 here"]
def preprocess_parity(train, serve):
    faults = set()

    def solid(c):
        return Image.new("RGB", (32, 32), c)

    tb, tw = train(solid((0, 0, 0))).mean().item(), train(solid((255,) * 3)).mean().item()
    sb, sw = serve(solid((0, 0, 0))).mean().item(), serve(solid((255,) * 3)).mean().item()
    if abs(sb) > 0.02 or abs(sw - 1) > 0.02:
        faults.add("scale")
    back = lambda y: (y.double() - sb) / (sw - sb)
    own = lambda y: (y.double() - tb) / (tw - tb)
    a = own(train(solid((255, 0, 0)))).mean((1, 2)).argmax()
    b = back(serve(solid((255, 0, 0)))).mean((1, 2)).argmax()
    if a != b:
        faults.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (301, 407), dtype=np.uint8)
    noise = Image.merge("RGB", [Image.fromarray(noise)] * 3)
    if (own(train(noise)) - back(serve(noise))).abs().max() > 0.02:
        faults.add("antialias")
    colours = Image.fromarray(
        np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    )
    rgba = colours.convert("RGBA")
    rgba.putalpha(
        Image.fromarray(np.random.default_rng(2).integers(0, 256, (32, 32), dtype=np.uint8))
    )
    for p in (colours.convert("L"), colours.convert("P"), rgba):
        try:
            if (back(serve(p)) - back(serve(p.convert("RGB")))).abs().max() > 0.02:
                faults.add("mode")
        except Exception:
            faults.add("mode")
    return faults


# %% wrong="nothing in its pictures is transparent" breaks="With `RGBA` that may happen only where the picture is transparent" says=["RGBA alone, and only where it is transparent"]
def preprocess_parity(train, serve):
    faults = set()

    def solid(c):
        return Image.new("RGB", (32, 32), c)

    tb, tw = train(solid((0, 0, 0))).mean().item(), train(solid((255,) * 3)).mean().item()
    sb, sw = serve(solid((0, 0, 0))).mean().item(), serve(solid((255,) * 3)).mean().item()
    tol = 0.02 * abs(tw - tb)
    if abs(sb - tb) > tol or abs(sw - tw) > tol:
        faults.add("scale")
    back = lambda y: (y.double() - sb) / (sw - sb)
    own = lambda y: (y.double() - tb) / (tw - tb)
    a = own(train(solid((255, 0, 0)))).mean((1, 2)).argmax()
    b = back(serve(solid((255, 0, 0)))).mean((1, 2)).argmax()
    if a != b:
        faults.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (301, 407), dtype=np.uint8)
    noise = Image.merge("RGB", [Image.fromarray(noise)] * 3)
    if (own(train(noise)) - back(serve(noise))).abs().max() > 0.02:
        faults.add("antialias")
    colours = Image.fromarray(
        np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    )
    rgba = colours.convert("RGBA")
    (lambda *_: None)(
        Image.fromarray(np.random.default_rng(2).integers(0, 256, (32, 32), dtype=np.uint8))
    )
    for p in (colours.convert("L"), colours.convert("P"), rgba):
        try:
            if (back(serve(p)) - back(serve(p.convert("RGB")))).abs().max() > 0.02:
                faults.add("mode")
        except Exception:
            faults.add("mode")
    return faults


# %% wrong="never tries a grey picture" breaks="for a picture of mode `L`, `P` or `RGBA`, perhaps only one of them" says=["not found: mode (L alone)"]
def preprocess_parity(train, serve):
    faults = set()

    def solid(c):
        return Image.new("RGB", (32, 32), c)

    tb, tw = train(solid((0, 0, 0))).mean().item(), train(solid((255,) * 3)).mean().item()
    sb, sw = serve(solid((0, 0, 0))).mean().item(), serve(solid((255,) * 3)).mean().item()
    tol = 0.02 * abs(tw - tb)
    if abs(sb - tb) > tol or abs(sw - tw) > tol:
        faults.add("scale")
    back = lambda y: (y.double() - sb) / (sw - sb)
    own = lambda y: (y.double() - tb) / (tw - tb)
    a = own(train(solid((255, 0, 0)))).mean((1, 2)).argmax()
    b = back(serve(solid((255, 0, 0)))).mean((1, 2)).argmax()
    if a != b:
        faults.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (301, 407), dtype=np.uint8)
    noise = Image.merge("RGB", [Image.fromarray(noise)] * 3)
    if (own(train(noise)) - back(serve(noise))).abs().max() > 0.02:
        faults.add("antialias")
    colours = Image.fromarray(
        np.random.default_rng(1).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    )
    rgba = colours.convert("RGBA")
    rgba.putalpha(
        Image.fromarray(np.random.default_rng(2).integers(0, 256, (32, 32), dtype=np.uint8))
    )
    for p in (colours.convert("P"), rgba):
        try:
            if (back(serve(p)) - back(serve(p.convert("RGB")))).abs().max() > 0.02:
                faults.add("mode")
        except Exception:
            faults.add("mode")
    return faults


# %% right="a chessboard of 640 and noise, by differences"
def preprocess_parity(train, serve):
    out = set()
    rng = np.random.default_rng(4)
    black, white = Image.new("RGB", (32, 32)), Image.new("RGB", (32, 32), "white")
    lo, hi = train(black).float(), train(white).float()
    slo, shi = serve(black).float(), serve(white).float()
    span = (hi - lo).abs().max()
    if max((slo - lo).abs().max(), (shi - hi).abs().max()) > 0.02 * span:
        out.add("scale")
    unit = lambda f, p: (f(p).float() - f(black).float()) / (f(white).float() - f(black).float())
    blue = Image.new("RGB", (32, 32), (0, 0, 255))
    if (unit(train, blue) - unit(serve, blue)).abs().max() > 0.5:
        out.add("channel order")
    checker = Image.fromarray((np.indices((640, 640)).sum(0) % 2 * 255).astype(np.uint8)).convert(
        "RGB"
    )
    noise = Image.fromarray(rng.integers(0, 256, (500, 500), dtype=np.uint8)).convert("RGB")
    for p in (checker, noise):
        if (unit(train, p) - unit(serve, p)).abs().max() > 0.02:
            out.add("antialias")
    for mode in ("L", "P", "RGBA"):
        p = Image.fromarray(rng.integers(0, 256, (70, 90, 3), dtype=np.uint8)).convert(mode)
        if mode == "RGBA":
            p.putalpha(Image.fromarray(rng.integers(0, 256, (70, 90), dtype=np.uint8)))
        try:
            y = unit(serve, p)
            if not torch.allclose(y, unit(serve, p.convert("RGB")), atol=0.02):
                out.add("mode")
        except Exception:
            out.add("mode")
    return out


# %% wrong="no tolerance for the scale" says=["no fault, float rounded", "differs by rounding alone"]
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    noise = np.random.default_rng(0).integers(0, 256, (150, 110, 3), dtype=np.uint8)
    small, grey = Image.fromarray(noise[:32, :32]), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        return red.argmax(), low, high, (transform(grey) - low) / (high - low)

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0:
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = small.convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[32:64, :32, 0]))
        try:
            same = torch.equal(serve(other), serve(other.convert("RGB")))
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found


# %% wrong="0.02, whatever the range" breaks="`serve` does the same up to rounding" says=["0 to 255 in training", "less than 0.02 of that range"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    def ends(f):
        return f(plain((0, 0, 0))).double().mean(), f(plain((255, 255, 255))).double().mean()

    found = set()
    black, white = ends(train)
    dark, light = ends(serve)
    near = 0.02
    if (dark - black).abs() > near or (light - white).abs() > near:
        found.add("scale")

    def to_one(y, lo, hi):
        return (y.double() - lo) / (hi - lo)

    a = to_one(train(plain((255, 0, 0))), black, white).mean((1, 2))
    b = to_one(serve(plain((255, 0, 0))), dark, light).mean((1, 2))
    if (a - b).abs().max() > (a.flip(0) - b).abs().max():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (256, 256), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (to_one(train(grey), black, white) - to_one(serve(grey), dark, light)).abs().max() > 0.02:
        found.add("antialias")
    rng = np.random.default_rng(1)
    raw = rng.integers(0, 256, (32, 32, 4), dtype=np.uint8)
    rgba = Image.fromarray(raw)
    for picture in (rgba, rgba.convert("RGB").convert("L"), rgba.convert("RGB").convert("P")):
        try:
            one, two = serve(picture), serve(picture.convert("RGB"))
        except Exception:
            found.add("mode")
            continue
        if one.shape != two.shape or (one - two).abs().max() > 0.02:
            found.add("mode")
    return found


# %% wrong="what is transparent in its picture is black" says=["RGBA alone, and only where it is transparent, black shows through there"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    def ends(f):
        black, white = f(plain((0, 0, 0))), f(plain((255, 255, 255)))
        return black.double().mean((1, 2)), white.double().mean((1, 2))

    black, white = ends(train)
    s_black, s_white = ends(serve)
    span = (white - black).abs().max()
    found = set()

    def share(y, low, high):
        return (y.double() - low[:, None, None]) / (high - low)[:, None, None]

    red = plain((255, 0, 0))
    t_red = share(train(red), black, white).mean((1, 2))
    s_red = share(serve(red), s_black, s_white).mean((1, 2))
    if (s_red - t_red).abs().max() > (s_red.flip(0) - t_red).abs().max():
        found.add("channel order")
        s_black_like, s_white_like = s_black.flip(0), s_white.flip(0)
    else:
        s_black_like, s_white_like = s_black, s_white

    def near(a, b):
        return bool((a - b).abs().max() < 0.02 * span)

    if not (near(s_black, black) and near(s_white, white)) and not (
        near(s_black_like, black) and near(s_white_like, white)
    ):
        found.add("scale")
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (300, 260), dtype=np.uint8)
    large = Image.fromarray(noise).convert("RGB")
    t, s = share(train(large), black, white), share(serve(large), s_black, s_white)
    if (t - s).abs().max() > 0.02:
        found.add("antialias")
    colours = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    rgb = Image.fromarray(colours)
    alpha = Image.fromarray(rng.integers(0, 256, (32, 32), dtype=np.uint8))
    clear = Image.new("RGB", (32, 32))
    clear.putalpha(alpha)
    s_span = (s_white - s_black).abs().max()
    for picture in (rgb.convert("L"), rgb.quantize(16), clear):
        try:
            same = serve(picture.convert("RGB")).double()
            given = serve(picture).double()
            if given.shape != same.shape or (given - same).abs().max() > 0.02 * s_span:
                found.add("mode")
        except Exception:
            found.add("mode")
    return found


# %% wrong="0.02 for the mode, whatever the range" says=["training has 0 to 0.01 here"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    def ends(f):
        black, white = f(plain((0, 0, 0))), f(plain((255, 255, 255)))
        return black.double().mean((1, 2)), white.double().mean((1, 2))

    black, white = ends(train)
    s_black, s_white = ends(serve)
    span = (white - black).abs().max()
    found = set()

    def share(y, low, high):
        return (y.double() - low[:, None, None]) / (high - low)[:, None, None]

    red = plain((255, 0, 0))
    t_red = share(train(red), black, white).mean((1, 2))
    s_red = share(serve(red), s_black, s_white).mean((1, 2))
    if (s_red - t_red).abs().max() > (s_red.flip(0) - t_red).abs().max():
        found.add("channel order")
        s_black_like, s_white_like = s_black.flip(0), s_white.flip(0)
    else:
        s_black_like, s_white_like = s_black, s_white

    def near(a, b):
        return bool((a - b).abs().max() < 0.02 * span)

    if not (near(s_black, black) and near(s_white, white)) and not (
        near(s_black_like, black) and near(s_white_like, white)
    ):
        found.add("scale")
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (300, 260), dtype=np.uint8)
    large = Image.fromarray(noise).convert("RGB")
    t, s = share(train(large), black, white), share(serve(large), s_black, s_white)
    if (t - s).abs().max() > 0.02:
        found.add("antialias")
    colours = rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)
    rgb = Image.fromarray(colours)
    alpha = Image.fromarray(rng.integers(0, 256, (32, 32), dtype=np.uint8))
    clear = rgb.copy()
    clear.putalpha(alpha)
    for picture in (rgb.convert("L"), rgb.quantize(16), clear):
        try:
            same = serve(picture.convert("RGB")).double()
            given = serve(picture).double()
            if given.shape != same.shape or (given - same).abs().max() > 0.02:
                found.add("mode")
        except Exception:
            found.add("mode")
    return found


# %% wrong="the width of the range for the scale" breaks="black and white have other values than in `train`" says=["and 0 to 1 is as wide; compare black with black"]
def preprocess_parity(train, serve):
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("black", "white", "red")]
    black, white, red = (train(picture).double() for picture in plain)
    theirs_black, theirs_white, theirs_red = (serve(picture).double() for picture in plain)
    spread = (white - black).abs().max()
    found = set()
    ours = (red - black).abs().mean((1, 2)).argmax()
    theirs = (theirs_red - theirs_black).abs().mean((1, 2)).argmax()
    turned = bool(ours != theirs)
    if turned:
        found.add("channel order")
        theirs_black, theirs_white = theirs_black.flip(0), theirs_white.flip(0)
    if ((theirs_white - theirs_black) - (white - black)).abs().max() > 0.02 * spread:
        found.add("scale")
    noise = np.random.default_rng(0).integers(0, 256, (200, 200), dtype=np.uint8)
    noise = Image.fromarray(noise).convert("RGB")
    a = (train(noise).double() - black) / (white - black)
    b = serve(noise).double()
    if turned:
        b = b.flip(0)
    b = (b - theirs_black) / (theirs_white - theirs_black)
    if (a - b).abs().max() > 0.02:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (4, 4, 4), dtype=np.uint8)
    big = Image.fromarray(colours.repeat(8, 0).repeat(8, 1))
    limit = 0.02 * (theirs_white - theirs_black).abs().max()
    for picture in (big.convert("RGB").convert("L"), big.convert("RGB").convert("P"), big):
        want = serve(picture.convert("RGB"))
        try:
            got = serve(picture)
        except Exception:
            found.add("mode")
            continue
        if not (got - want).abs().max() <= limit:
            found.add("mode")
    return found


# %% wrong="scale by a middle grey" breaks="black and white have other values than in `train`" says=["not found: scale (0.25 to 0.75, with the same grey in the middle"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * (high - low).abs()
    half = plain((128, 128, 128))
    if (train(half).double() - serve(half).double()).abs().max() > limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if trained(red).mean((1, 2)).argmax() != served(red).mean((1, 2)).argmax():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), rgba.convert("L")):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.03
        except Exception:
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="scale by the middle of both" breaks="black and white have other values than in `train`" says=["not found: scale (0.25 to 0.75, with the same grey in the middle"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * (high - low).abs()
    if ((their_high + their_low) - (high + low)).abs() > 2 * limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if trained(red).mean((1, 2)).argmax() != served(red).mean((1, 2)).argmax():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), rgba.convert("L")):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.03
        except Exception:
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="a share of the highest value" breaks="`serve` does the same up to rounding" says=["training has values from -1 to 0 here"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * high.abs()
    if (their_low - low).abs() > limit or (their_high - high).abs() > limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if trained(red).mean((1, 2)).argmax() != served(red).mean((1, 2)).argmax():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), rgba.convert("L")):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.03
        except Exception:
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="three kinds of exceptions" breaks="it raises an exception" says=["any exception is a fault"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * (high - low).abs()
    if (their_low - low).abs() > limit or (their_high - high).abs() > limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if trained(red).mean((1, 2)).argmax() != served(red).mean((1, 2)).argmax():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), rgba.convert("L")):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.03
        except (RuntimeError, ValueError, IndexError):
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="mode by wide limits" breaks="for a picture of mode `L`, `P` or `RGBA`, perhaps only one of them" says=["L alone, which comes too light"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * (high - low).abs()
    if (their_low - low).abs() > limit or (their_high - high).abs() > limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if trained(red).mean((1, 2)).argmax() != served(red).mean((1, 2)).argmax():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), rgba.convert("L")):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.6
        except Exception:
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="view of the result" breaks="`serve` does the same up to rounding" says=["no fault, transposed in memory: raised RuntimeError"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * (high - low).abs()
    if (their_low - low).abs() > limit or (their_high - high).abs() > limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if trained(red).mean((1, 2)).argmax() != served(red).view(3, -1).mean(1).argmax():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), rgba.convert("L")):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.03
        except Exception:
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="dtypes must be equal" breaks="`serve` does the same up to rounding" says=["no fault, double: raised RuntimeError"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * (high - low).abs()
    if (their_low - low).abs() > limit or (their_high - high).abs() > limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if (
        not torch.allclose(train(red).mean() * 0, serve(red).mean() * 0)
        or trained(red).mean((1, 2)).argmax() != served(red).mean((1, 2)).argmax()
    ):
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), rgba.convert("L")):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.03
        except Exception:
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="a white picture for L" breaks="for a picture of mode `L`, `P` or `RGBA`, perhaps only one of them" says=["only its white is right"]
def preprocess_parity(train, serve):
    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    found = set()
    dark, light = plain((0, 0, 0)), plain((255, 255, 255))
    low, high = train(dark).double().mean(), train(light).double().mean()
    their_low, their_high = serve(dark).double().mean(), serve(light).double().mean()
    limit = 0.03 * (high - low).abs()
    if (their_low - low).abs() > limit or (their_high - high).abs() > limit:
        found.add("scale")

    def trained(picture):
        return (train(picture).double() - low) / (high - low)

    def served(picture):
        return (serve(picture).double() - their_low) / (their_high - their_low)

    red = plain((255, 0, 0))
    if trained(red).mean((1, 2)).argmax() != served(red).mean((1, 2)).argmax():
        found.add("channel order")
    noise = np.random.default_rng(0).integers(0, 256, (250, 250), dtype=np.uint8)
    grey = Image.fromarray(noise).convert("RGB")
    if (trained(grey) - served(grey)).abs().max() > 0.03:
        found.add("antialias")
    colours = np.random.default_rng(1).integers(0, 256, (32, 32, 4), dtype=np.uint8)
    colours[..., 3] = np.where(np.arange(32) % 2, 0, 255)
    rgba = Image.fromarray(colours)
    for picture in (rgba, rgba.convert("RGB").convert("P"), Image.new("L", (32, 32), 255)):
        try:
            same = (served(picture) - served(picture.convert("RGB"))).abs().max() < 0.03
        except Exception:
            same = False
        if not same:
            found.add("mode")
    return found


# %% wrong="modes of 32 by 32 alone" says=["made small before it is converted", "a large picture shows it"]
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    noise = np.random.default_rng(0).integers(0, 256, (150, 110, 3), dtype=np.uint8)
    large, grey = Image.fromarray(noise), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        red, noisy = ((one - low) / (high - low) for one in (red, transform(grey)))
        return red.argmax(), low, high, noisy

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0.02 * abs(right[2] - right[1]):
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = large.crop((0, 0, 32, 32)).convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[32:64, :32, 0].copy()))
        try:
            off = (serve(other) - serve(other.convert("RGB"))).abs().max()
            same = off < 0.02 * abs(got[2] - got[1])
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found


# %% wrong="modes equal to the last bit" breaks="`serve` does the same up to rounding" says=["off by one of 255, which is rounding"]
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    noise = np.random.default_rng(0).integers(0, 256, (150, 110, 3), dtype=np.uint8)
    large, grey = Image.fromarray(noise), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        red, noisy = ((one - low) / (high - low) for one in (red, transform(grey)))
        return red.argmax(), low, high, noisy

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0.02 * abs(right[2] - right[1]):
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = large.convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[::-1, :, 0].copy()))
        try:
            off = (serve(other) - serve(other.convert("RGB"))).abs().max()
            same = off == 0
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found


# %% right="a wide picture for the modes"
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    noise = np.random.default_rng(5).integers(0, 256, (64, 333, 3), dtype=np.uint8)
    large, grey = Image.fromarray(noise), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        red, noisy = ((one - low) / (high - low) for one in (red, transform(grey)))
        return red.argmax(), low, high, noisy

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0.02 * abs(right[2] - right[1]):
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = large.convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[::-1, :, 0].copy()))
        try:
            off = (serve(other) - serve(other.convert("RGB"))).abs().max()
            same = off / abs(got[2] - got[1]) < 0.01
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found


# %% right="the largest of raw values"
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    noise = np.random.default_rng(0).integers(0, 256, (150, 110, 3), dtype=np.uint8)
    large, grey = Image.fromarray(noise), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        noisy = (transform(grey) - low) / (high - low)
        return red.argmax(), low, high, noisy

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0.02 * abs(right[2] - right[1]):
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = large.convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[::-1, :, 0].copy()))
        try:
            off = (serve(other) - serve(other.convert("RGB"))).abs().max()
            same = off < 0.02 * abs(got[2] - got[1])
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found


# %% wrong="modes by the range of training" says=["off by one of 255, which is rounding", "compare by the server's own range"]
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    noise = np.random.default_rng(0).integers(0, 256, (150, 110, 3), dtype=np.uint8)
    large, grey = Image.fromarray(noise), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        red, noisy = ((one - low) / (high - low) for one in (red, transform(grey)))
        return red.argmax(), low, high, noisy

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0.02 * abs(right[2] - right[1]):
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = large.convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[::-1, :, 0].copy()))
        try:
            off = (serve(other) - serve(other.convert("RGB"))).abs().max()
            same = off < 0.02 * abs(right[2] - right[1])
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found


# %% wrong="a NaN isn't more than the tolerance" says=["not found: mode (L alone, for which it gives NaN"]
def preprocess_parity(train, serve):
    found = set()
    plain = {c: Image.new("RGB", (32, 32), c) for c in ("black", "white", "red")}
    t = {c: train(p).double() for c, p in plain.items()}
    s = {c: serve(p).double() for c, p in plain.items()}
    t_range = (t["white"] - t["black"]).mean()
    s_range = (s["white"] - s["black"]).mean()
    if t["red"].mean((1, 2)).argmax() != s["red"].mean((1, 2)).argmax():
        found.add("channel order")
    if any((t[c] - s[c]).abs().max() > 0.02 * t_range for c in ("black", "white")):
        found.add("scale")
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 256, (300, 300), dtype=np.uint8)).convert("RGB")
    here = (train(noise).double() - t["black"]) / (t["white"] - t["black"])
    there = (serve(noise).double() - s["black"]) / (s["white"] - s["black"])
    if (here - there).abs().max() > 0.04:
        found.add("antialias")
    for size in (32, 300):
        colours = Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8))
        clear = colours.convert("RGBA")
        clear.putalpha(Image.fromarray(rng.integers(0, 256, (size, size), dtype=np.uint8)))
        for picture in (colours.convert("L"), colours.convert("P"), colours.convert("RGBA"), clear):
            try:
                a = serve(picture).double()
            except Exception:
                found.add("mode")
                continue
            b = serve(picture.convert("RGB")).double()
            if a.shape != b.shape or (a - b).abs().max() > 0.02 * s_range:
                found.add("mode")
    return found


# %% wrong="farther than the limit, which a NaN is not" breaks="gives something else (NaN, for instance)" says=["a NaN is no number that is too far off"]
def preprocess_parity(train, serve):
    faults_found = set()
    random = np.random.default_rng(0)

    def plain(colour):
        return Image.new("RGB", (32, 32), colour)

    black, white = train(plain((0, 0, 0))).mean(), train(plain((255, 255, 255))).mean()
    dark, light = serve(plain((0, 0, 0))).mean(), serve(plain((255, 255, 255))).mean()
    limit = 0.02 * (white - black)
    if (dark - black).abs() > limit or (light - white).abs() > limit:
        faults_found.add("scale")
    red = plain((255, 0, 0))
    if train(red).mean((1, 2)).argmax() != serve(red).mean((1, 2)).argmax():
        faults_found.add("channel order")
    noise = random.integers(0, 256, (256, 256), dtype=np.uint8)
    large = Image.fromarray(noise).convert("RGB")
    theirs = (serve(large) - dark) / (light - dark)
    ours = (train(large) - black) / (white - black)
    if (theirs - ours).abs().max() > 0.1:
        faults_found.add("antialias")
    colours = random.integers(0, 256, (256, 256, 4), dtype=np.uint8)
    palette = Image.fromarray(noise)
    palette.putpalette(random.integers(0, 256, 768, dtype=np.uint8).tobytes())
    holes = colours.copy()
    holes[..., 3] = np.where(noise < 128, 0, 255)
    holes[noise < 128, :3] = 200
    holes[noise >= 128, :3] = 40
    rgba = [Image.fromarray(colours), Image.fromarray(holes)]
    for picture in (Image.fromarray(noise), palette, *rgba):
        for size in (32, 256):
            part = picture.crop((0, 0, size, size))
            try:
                there = serve(part)
            except Exception:
                faults_found.add("mode")
                continue
            if (there - serve(part.convert("RGB"))).abs().max() > 0.04 * (light - dark):
                faults_found.add("mode")
    return faults_found


# %% right="both brought to 0 to 1, turned and straight"
def preprocess_parity(train, serve):
    generator = torch.Generator().manual_seed(3)

    def numbers(*shape):
        return torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8).numpy()

    def ends(way):
        pair = [way(Image.new("RGB", (32, 32), (v, v, v))).double() for v in (0, 255)]
        return [float(part.median()) for part in pair]

    (b, w), (sb, sw) = ends(train), ends(serve)

    def ours(picture):
        return (train(picture).double() - b) / (w - b)

    def theirs(picture):
        return (serve(picture).double() - sb) / (sw - sb)

    def far(one, other, least):
        return not float((one - other).abs().max()) <= least

    def odd_mode(picture):
        try:
            return far(theirs(picture), theirs(picture.convert("RGB")), 0.04)
        except Exception:
            return True

    tiles = Image.new("RGB", (32, 32), (250, 120, 10))
    straight = float((theirs(tiles) - ours(tiles)).abs().sum())
    turned = float((theirs(tiles).flip(0) - ours(tiles)).abs().sum())
    grey = Image.fromarray(numbers(320, 192)).convert("RGB")

    pictures = []
    for side in (32, 300):
        grain = numbers(side, side)
        pictures.append(Image.fromarray(grain))
        spotted = Image.fromarray(grain // 128)
        spotted.putpalette([240, 10, 60, 10, 200, 90] + [128] * 762)
        pictures.append(spotted)
        many = Image.fromarray(grain)
        many.putpalette(numbers(768).tobytes())
        pictures.append(many)
        for alpha in (grain, np.where(grain < 128, 0, 255).astype(np.uint8)):
            layers = [
                np.where(grain < 128, u, v).astype(np.uint8)
                for u, v in ((30, 220), (170, 60), (90, 250))
            ]
            pictures.append(Image.fromarray(np.stack([*layers, alpha], 2)))

    tests = {
        "channel order": turned < straight,
        "scale": max(abs(sb - b), abs(sw - w)) > 0.02 * (w - b),
        "antialias": far(theirs(grey), ours(grey), 0.1),
        "mode": any(odd_mode(picture) for picture in pictures),
    }
    return {name for name, found in tests.items() if found}


# %% right="a class with a method for each fault, L in black and white"
class Parity:
    """Pictures made for one fault each; every method says whether the server has it."""

    def __init__(self, train: Callable, serve: Callable, seed: int = 3) -> None:
        self.train, self.serve = train, serve
        self.rng = np.random.default_rng(seed)
        self.ends = {f: (self.level(f, 0), self.level(f, 255)) for f in (train, serve)}

    @staticmethod
    def colour(*rgb: int) -> Image.Image:
        return Image.new("RGB", (32, 32), rgb)

    def level(self, f: Callable, grey: int) -> float:
        return float(f(self.colour(grey, grey, grey)).double().mean())

    def unit(self, f: Callable, picture: Image.Image) -> np.ndarray:
        low, high = self.ends[f]
        return (f(picture).double().numpy() - low) / (high - low)

    def order(self) -> bool:
        red = self.colour(255, 0, 0)
        first = [self.unit(f, red)[0].mean() > 0.5 for f in (self.train, self.serve)]
        return first[0] != first[1]

    def scale(self) -> bool:
        (low, high), (own_low, own_high) = self.ends[self.train], self.ends[self.serve]
        return max(abs(own_low - low), abs(own_high - high)) >= 0.02 * (high - low)

    def antialias(self) -> bool:
        grey = self.rng.integers(0, 256, (416, 416), dtype=np.uint8)
        picture = Image.fromarray(np.repeat(grey[:, :, None], 3, 2))
        return bool(
            np.abs(self.unit(self.train, picture) - self.unit(self.serve, picture)).max() > 0.15
        )

    def pictures(self):
        for size in (32, 416):
            on = self.rng.random((size, size)) < 0.5
            white = np.uint8(255) * on.astype(np.uint8)
            yield Image.fromarray(white)
            index = Image.frombytes("P", (size, size), (1 - on.astype(np.uint8)).tobytes())
            index.putpalette([240, 250, 230, 10, 0, 30] + [0] * 762)
            yield index
            yield Image.fromarray(np.stack([white] * 4, 2))
            yield Image.fromarray(np.stack([white, white, white, 255 - white], 2))

    def mode(self) -> bool:
        for picture in self.pictures():
            try:
                off = self.unit(self.serve, picture) - self.unit(self.serve, picture.convert("RGB"))
            except Exception:
                return True
            if not np.all(np.abs(off) < 0.1):
                return True
            if self.serve(picture).shape != (3, 32, 32):
                return True
        return False


def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    # two names for one function must not share their ends
    parity = Parity(train, lambda picture: serve(picture))
    tests = {
        "channel order": parity.order,
        "scale": parity.scale,
        "antialias": parity.antialias,
        "mode": parity.mode,
    }
    return {name for name, test in tests.items() if test()}


# %% right="a line from level to value, L in black and white"
def preprocess_parity(train: Callable, serve: Callable) -> set[str]:
    """Fits a line from level to value for both, and judges what the line leaves over."""
    rng = np.random.default_rng(11)
    levels = np.array([0, 64, 128, 192, 255])

    def numbers(f, picture):
        return np.asarray(f(picture).detach().cpu(), dtype=np.float64)

    def line(f):
        values = [numbers(f, Image.new("RGB", (32, 32), (n, n, n))).mean() for n in levels.tolist()]
        slope, start = np.polyfit(levels / 255, values, 1)
        return start, slope

    (start, slope), (own_start, own_slope) = line(train), line(serve)
    ends = np.array([start, start + slope]) - np.array([own_start, own_start + own_slope])
    checks = {"scale": np.abs(ends).max() > 0.02 * slope}

    orange = Image.new("RGB", (32, 32), (250, 120, 5))
    channels = (numbers(train, orange).mean((1, 2)) - start) / slope
    own = (numbers(serve, orange).mean((1, 2)) - own_start) / own_slope
    checks["channel order"] = np.abs(channels - own[::-1]).sum() < np.abs(channels - own).sum()

    noise = rng.choice(np.array([0, 255], dtype=np.uint8), (480, 480))
    grey = Image.merge("RGB", [Image.fromarray(noise)] * 3)
    left = (numbers(train, grey) - start) / slope - (numbers(serve, grey) - own_start) / own_slope
    checks["antialias"] = np.sqrt((left**2).mean()) > 0.05

    def differs(picture: Image.Image) -> bool:
        try:
            got, wanted = numbers(serve, picture), numbers(serve, picture.convert("RGB"))
            assert got.shape == wanted.shape
            off = got - wanted
        except Exception:
            return True
        return not np.abs(off).max() < 0.1 * own_slope

    case = []
    for part in (noise[:32, :32], noise):
        part = np.ascontiguousarray(part)
        size = part.shape[::-1]
        case.append(Image.fromarray(part))
        coloured = Image.frombytes("P", size, (part // 255 + 3).tobytes())
        coloured.putpalette([9] * 9 + [255, 250, 245] + [0, 5, 10] + [9] * 753)
        case.append(coloured)
        case.append(Image.merge("RGBA", [Image.fromarray(part)] * 4))
        case.append(
            Image.merge("RGBA", [Image.fromarray(part)] * 3 + [Image.fromarray(255 - part)])
        )
    checks["mode"] = any(differs(picture) for picture in case)
    return {name for name, fault in checks.items() if fault}


# %% wrong="a black picture for L" breaks="for a picture of mode `L`, `P` or `RGBA`, perhaps only one of them" says=["comes too dark: only its black is right"]
def preprocess_parity(train, serve):
    noise = np.random.default_rng(0).integers(0, 256, (150, 110, 3), dtype=np.uint8)
    large, grey = Image.fromarray(noise), Image.fromarray(noise[..., 0]).convert("RGB")
    plain = [Image.new("RGB", (32, 32), colour) for colour in ("red", "black", "white")]

    def look(transform):
        red, black, white = (transform(picture).float().mean((1, 2)) for picture in plain)
        low, high = black.mean(), white.mean()
        return red.argmax(), low, high, (transform(grey) - low) / (high - low), transform(grey)

    right, got, found = look(train), look(serve), set()
    if right[0] != got[0]:
        found.add("channel order")
    if max(abs(right[1] - got[1]), abs(right[2] - got[2])) > 0.02 * (right[2] - right[1]):
        found.add("scale")
    if (right[3] - got[3]).abs().max() > 0.05:
        found.add("antialias")
    for mode in ("L", "P", "RGBA"):
        other = Image.new("L", (32, 32)) if mode == "L" else large.convert(mode)
        if mode == "RGBA":
            other.putalpha(Image.fromarray(noise[::-1, :, 0].copy()))
        try:
            off = (serve(other) - serve(other.convert("RGB"))).abs().max()
            same = off < 0.02 * (got[2] - got[1])
        except Exception:
            same = False
        found |= set() if same else {"mode"}
    return found
