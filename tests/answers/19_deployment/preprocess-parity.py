# %% wrong="compares numbers, and calls everything by the first name" says=["found, though it isn't there: channel order"]
def preprocess_parity(train, serve):
    red, white = Image.new("RGB", (32, 32), "red"), Image.new("RGB", (32, 32), "white")
    found = set()
    if not torch.equal(train(red), serve(red)):
        found.add("channel order")
    if not torch.equal(train(white), serve(white)):
        found.add("scale")
    return found


# %% wrong="knows training instead of asking it" says=["training has blue first here", "compare with `train`"]
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


# %% wrong="no tolerance for rounding" says=["differs by rounding alone"]
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


# %% wrong="a chessboard of 64 for antialias, grey alone for mode" says=["not found: antialias (bilinear without antialias)", "not found: mode (P alone)", "not found: mode (RGBA alone)"]
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


# %% wrong="white alone for the scale" says=["it has to be seen through the other faults"]
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


# %% wrong="a list" says=["a list came back, not a set"]
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
            return bool((serve(picture) - serve(picture.convert("RGB"))).abs().max() < 1e-6)
        except Exception:
            return False

    if not all(agrees(drawn.picture_of(n).convert(m)) for n in (0, 4) for m in ("L", "P", "RGBA")):
        faults_found.append("mode")
    return set(faults_found)


# %% wrong="an exception escapes" says=["raised RuntimeError", "mode: "]
def preprocess_parity(train, serve):
    grey = drawn.picture_of(3).convert("L")
    return set() if torch.equal(serve(grey), train(grey)) else {"mode"}
