# %% [markdown]
# Rules:
#
# - "Answer with whole numbers"
# - "which is 24 such photos one after the other"
# - "how many elements it has"
# - "what PIL says first"

# %% wrong="left as it came" breaks="Answer with whole numbers" says=["5 of 5 predictions are still blank"]
read_the_photo = {
    "rank of the photo": None,
    "rank of a video": None,
    "numbers in the photo": None,
    "rows of pixels": None,
    "first entry of image.size": None,
}

# %% wrong="the width first" breaks="what PIL says first" says=["2 of 5", "rows of pixels is not 90: an array has the height first", "PIL has the width first"]
read_the_photo = {
    "rank of the photo": 3,
    "rank of a video": 4,
    "numbers in the photo": 16200,
    "rows of pixels": 90,
    "first entry of image.size": 60,
}

# %% wrong="a photo is a table" breaks="how many elements it has" says=["rank of the photo is not 2", "rank of a video is not 3", "channels included"]
read_the_photo = {
    "rank of the photo": 2,
    "rank of a video": 3,
    "numbers in the photo": 60 * 90,
    "rows of pixels": 60,
    "first entry of image.size": 90,
}

# %% wrong="the number of frames for the rank" breaks="which is 24 such photos one after the other" says=["1 of 5", "rank of a video is not 24: time is one dimension more"]
read_the_photo = {
    "rank of the photo": 3,
    "rank of a video": 24,
    "numbers in the photo": 16200,
    "rows of pixels": 60,
    "first entry of image.size": 90,
}

# %% right="asked a tensor"
photo = torch.zeros(60, 90, 3)
read_the_photo = {
    "rank of the photo": photo.dim(),
    "rank of a video": photo[None].ndim,
    "numbers in the photo": photo.numel(),
    "rows of pixels": len(photo),
    "first entry of image.size": photo.size(1),
}

# %% right="filled in place of None"
read_the_photo = dict.fromkeys(["rank of the photo"], 3)
read_the_photo["rank of a video"] = 1 + 3
read_the_photo["numbers in the photo"] = 90 * 60 * 3
read_the_photo["rows of pixels"] = 60
read_the_photo["first entry of image.size"] = 90
