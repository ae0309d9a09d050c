# %% [markdown]
# Rules:
#
# - "For each line write a pair: the pattern, and a dict with the sizes"
# - "with the sizes that it needs"
# - "each pixel becomes a 2 × 2 block"
# - "the first head gets the first 3 channels, and so on"
# - "2 × 2 patches, row by row"
# - "inside a patch first the channel, then its rows"
# - "`w` is even"
# - "Find the patterns that arrange the tiles like that"
# - "a dict with the sizes"
#
# Admits:
#
# - "`w` is even": images of 6 × 10 pixels
# - "from the six tiles of shape (6, h, w, c)": "the tiles"

# %% wrong="every second row instead of neighbours" breaks="each pixel becomes a 2 × 2 block" says=["upsample", "does each pixel stay beside its copies?"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (i h) (j w)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}

# %% wrong="patches that are combs" breaks="2 × 2 patches, row by row" says=["patches", "are a patch's pixels neighbours?"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (p h) (q w) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}

# %% wrong="the channel last inside a patch" breaks="inside a patch first the channel, then its rows" says=["patches", "which index is first?"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (p q c)", {"p": 2, "q": 2}),
    "back": ("b (h w) (p q c) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}

# %% wrong="heads that take every fourth channel" breaks="the first head gets the first 3 channels, and so on" says=["heads", "4 heads of 3"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (d h) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}

# %% wrong="no size for the way back" breaks="with the sizes that it needs" says=["back, images of 6 × 4 pixels: einops refuses", "Could not infer"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}

# %% wrong="a pattern without its dict" breaks="For each line write a pair: the pattern, and a dict with the sizes" says=["channels first, images of 6 × 4 pixels: it is", "with sizes in the dict"]
einops_six = {
    "channels first": "b h w c -> b c h w",
    "global average": "b c h w -> b c",
}

# %% wrong="knows the width of the example only" breaks="`w` is even" says=["back", "einops refuses"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"w": 2, "p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}

# %% right="long names, an ellipsis, numbers in the pattern, sizes given from the other side"
einops_six = {
    "channels first": ["batch ... channel -> batch channel ...", {}],
    "global average": ("b c ... -> b c", {}),
    "upsample": ("b c h w -> b c (h 2) (w 2)", {}),
    "heads": ("batch time (head channel) -> batch head time channel", {"channel": 3}),
    "patches": ("b c (down p) (right q) -> b (down right) (c p q)", {"down": 3, "p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", dict(h=3, p=2, q=2)),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}


# %% wrong="pictures: rows for columns, tiles not turned, a column for a row" breaks="Find the patterns that arrange the tiles like that" says=["columns, the tiles: ", "tile 1 lies below tile 0", "turned, the tiles: ", "a tile's rows have become columns", "a row, the tiles: "]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("n h w c -> (n h) w c", {}),
    "columns": ("(i j) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i h) (j w) c", {"j": 2}),
}

# %% wrong="sizes in the pattern" breaks="a dict with the sizes" says=["upsample, images of 6 × 4 pixels: einops refuses", "2h", "heads, images of 6 × 4 pixels: einops refuses", "sizes go into the dict"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c 2h 2w", {}),
    "heads": ("b t (4 d) -> b 4 t d", {}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("n h w c -> h (n w) c", {}),
    "columns": ("(j i) h w c -> (i h) (j w) c", {"i": 2}),
    "turned": ("(i j) h w c -> (i w) (j h) c", {"j": 2}),
}


# %% wrong="tells the number of channels" breaks="with the sizes that it needs" says=["channels first, 3 images of 5 channels", "does a size in the dict hold for other images only?"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {"c": 3}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("s h w c -> h (s w) c", {}),
    "columns": ("(q p) h w c -> (p h) (q w) c", {"p": 2}),
    "turned": ("(p q) h w c -> (p w) (q h) c", {"q": 2}),
}


# %% wrong="tells the number of times" says=["heads, 3 images of 5 channels, 7 times", "does a size in the dict hold"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4, "t": 5}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("s h w c -> h (s w) c", {}),
    "columns": ("(q p) h w c -> (p h) (q w) c", {"p": 2}),
    "turned": ("(p q) h w c -> (p w) (q h) c", {"q": 2}),
}


# %% wrong="tells the height" says=["global average, images of 2 × 6 pixels", "does a size in the dict hold"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {"h": 6}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("s h w c -> h (s w) c", {}),
    "columns": ("(q p) h w c -> (p h) (q w) c", {"p": 2}),
    "turned": ("(p q) h w c -> (p w) (q h) c", {"q": 2}),
}


# %% wrong="tells the channels on the way back" says=["back, 3 images of 5 channels", "does a size in the dict hold"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "c": 3, "p": 2, "q": 2}),
    "a row": ("s h w c -> h (s w) c", {}),
    "columns": ("(q p) h w c -> (p h) (q w) c", {"p": 2}),
    "turned": ("(p q) h w c -> (p w) (q h) c", {"q": 2}),
}


# %% wrong="tells the height of a tile" says=["turned, tiles of 8 × 6 pixels", "does a size in the dict hold"]
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h i) (w j)", {"i": 2, "j": 2}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("s h w c -> h (s w) c", {}),
    "columns": ("(q p) h w c -> (p h) (q w) c", {"p": 2}),
    "turned": ("(p q) h w c -> (p w) (q h) c", {"q": 2, "h": 9}),
}


# %% right="numbers in the pattern of repeat"
einops_six = {
    "channels first": ("b h w c -> b c h w", {}),
    "global average": ("b c h w -> b c", {}),
    "upsample": ("b c h w -> b c (h 2) (w 2)", {}),
    "heads": ("b t (h d) -> b h t d", {"h": 4}),
    "patches": ("b c (h p) (w q) -> b (h w) (c p q)", {"p": 2, "q": 2}),
    "back": ("b (h w) (c p q) -> b c (h p) (w q)", {"h": 3, "p": 2, "q": 2}),
    "a row": ("s h w c -> h (s w) c", {}),
    "columns": ("(q p) h w c -> (p h) (q w) c", {"p": 2}),
    "turned": ("(p q) h w c -> (p w) (q h) c", {"q": 2}),
}


# %% right="a named tuple for each pair, sizes in a subclass of dict"
from collections import OrderedDict, defaultdict
from typing import NamedTuple


class Pattern(NamedTuple):
    text: str
    sizes: dict[str, int]


def step(before: str, after: str, **sizes: int) -> Pattern:
    """A pattern with its sizes."""
    return Pattern(f"{before} -> {after}", OrderedDict(sizes))


image = "batch channel (rows up) (columns across)"
patch = "batch (rows columns) (channel up across)"
two = {"up": 2, "across": 2}
einops_six = OrderedDict()
einops_six["channels first"] = step("batch height width channel", "batch channel height width")
einops_six["global average"] = Pattern("b c h w -> b c", defaultdict(int))
einops_six["upsample"] = step("batch channel rows columns", image, **two)
einops_six["heads"] = step("batch time (head each)", "batch head time each", head=4, each=3)
einops_six["patches"] = step(image, patch, **two)
einops_six["back"] = step(patch, image, rows=6 // 2, **two)
einops_six["a row"] = step("tile height width colour", "height (tile width) colour")
einops_six["columns"] = step(
    "(right down) height width colour", "(down height) (right width) colour", down=2
)
einops_six["turned"] = step(
    "(down right) height width colour", "(down width) (right height) colour", right=2
)
