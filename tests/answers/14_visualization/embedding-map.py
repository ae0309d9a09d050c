# %% [markdown]
# Rules:
#
# - "hands `features`"
# - "with `labels` as metadata"
# - "of the centred features"
# - "unscaled"
# - "the first two PCA coordinates"
# - "the index of the **nearest other** sample"
# - "by Euclidean distance"
# - "between all the features"
# - "Samples may be far from 0 and near to each other"
# - "Two equal samples are neighbours of each other"
#
# Admits:
#
# - "at least three samples": three on a line
# - "at least three samples and two features": six hundred
# - "Two equal samples": two equal samples
# - "group by group": two groups, far from each other
# - "far from 0 and near to each other, all of them or group by group": two groups in float64, far from each other
# - "floats, and a list of strings": float64, far from 0

# %% wrong="the stub" says=["None is no pair: is there an answer yet?"]
def embedding_map(writer, features, labels):
    pass


# %% wrong="not centred, itself its own neighbour, nothing written" says=["the features were not centred", "each sample is its own neighbour: leave it out", "nothing was handed to the projector"]
def embedding_map(writer, features, labels):
    directions = torch.linalg.svd(features, full_matrices=False).Vh[:2]
    return features @ directions.T, torch.cdist(features, features).argmin(1)


# %% wrong="neighbours in the map; labels forgotten" says=["a nearer sample exists (by all the features, not in the map?)", "the projector's labels"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features)
    centred = features - features.mean(0)
    map_ = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T
    return map_, torch.cdist(map_[:, :1], map_[:, :1]).fill_diagonal_(float("inf")).argmin(1)


# %% wrong="U alone" breaks="unscaled" says=["scaled to equal lengths (that is U alone); times the singular values"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    u, s, vh = torch.linalg.svd(features - features.mean(0), full_matrices=False)
    return u[:, :2], torch.cdist(features, features).fill_diagonal_(float("inf")).argmin(1)


# %% wrong="the second nearest by topk, which fails for equal samples; the smallest directions of eigh" says=["the last two directions, the shortest"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    values, vectors = torch.linalg.eigh(centred.T @ centred)
    order = vectors[:, :2].flip(1)
    nearest = torch.cdist(features, features).topk(2, largest=False).indices[:, 1]
    return centred @ order, nearest


# %% wrong="maps go into the projector, features don't" says=["the projector's table has shape"]
def embedding_map(writer, features, labels):
    centred = features - features.mean(0)
    map_ = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T
    writer.add_embedding(torch.cat([map_, map_[:, :1]], 1), metadata=labels)
    far = torch.cdist(features, features).fill_diagonal_(float("inf"))
    return map_, far.argmin(1)


# %% right="eigenvectors of the covariance, loops, a second tag"
def embedding_map(writer, features, labels):
    writer.add_embedding(features.cpu().numpy(), metadata=list(labels), tag="mine", global_step=3)
    x = features.double() - features.double().mean(0)
    values, vectors = torch.linalg.eigh(torch.cov(x.T))
    best = vectors[:, values.argsort(descending=True)[:2]]
    neighbours = []
    for i, row in enumerate(features):
        far = (features - row).square().sum(1)
        far[i] = float("inf")
        neighbours.append(int(far.argmin()))
    return (x @ best).float(), torch.tensor(neighbours)


# %% right="scikit-learn"
def embedding_map(writer, features, labels):
    from sklearn.decomposition import PCA
    from sklearn.neighbors import NearestNeighbors

    table = features.cpu().numpy()
    writer.add_embedding(table, metadata=labels)
    found = NearestNeighbors(n_neighbors=2).fit(table).kneighbors()[1]
    return torch.tensor(PCA(2, svd_solver="full").fit_transform(table)), torch.tensor(found[:, 0])


# %% wrong="hands the centred features to the projector, without labels" breaks="hands `features`" says=["it gets the features as they are", "the projector's labels"]
def embedding_map(writer, features, labels):
    centred = features - features.mean(0)
    writer.add_embedding(centred)
    places = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T
    nearest = torch.cdist(features, features).fill_diagonal_(float("inf")).argmin(1)
    return places, nearest


# %% wrong="one mean for all, and the nearest distance instead of its index" breaks="the index of the **nearest other** sample" says=["each feature has its own", "floats, not indices"]
def embedding_map(writer, features, labels):
    centred = features - features.mean()
    writer.add_embedding(features, metadata=labels)
    places = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T
    nearest = torch.cdist(features, features).fill_diagonal_(float("inf")).min(1)[0]
    return places, nearest


# %% right="pca_lowrank"
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    U, S, V = torch.pca_lowrank(features, q=min(features.shape), center=True)
    far = torch.stack([(features - f).pow(2).sum(1) for f in features])
    far += torch.diag(torch.full((len(far),), float("inf"))).nan_to_num(0, posinf=float("inf"))
    return ((features - features.mean(0)) @ V)[:, :2], far.argmin(dim=0)


# %% wrong="each feature divided by its standard deviation" says=["each feature was divided by its standard deviation: leave the lengths"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = (features - features.mean(0)) / features.std(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    far = torch.cdist(features, features).fill_diagonal_(float("inf"))
    return centred @ directions.T, far.argmin(1)


# %% wrong="the second direction first" breaks="the first two PCA coordinates" says=["the second direction stands first"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    far = torch.cdist(features, features).fill_diagonal_(float("inf"))
    return (centred @ directions.T).flip(1), far.argmin(1)


# %% wrong="a hundred on the diagonal" says=["however far away the others are"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    c = features - features.mean(0)
    v = torch.linalg.svd(c, full_matrices=False).Vh[:2]
    s = (features[:, None] - features[None]).norm(dim=-1)
    return c @ v.T, s.fill_diagonal_(100.0).argmin(1)


# %% wrong="distances by products of the features" breaks="Samples may be far from 0 and near to each other" says=["the distances are rounded"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    c = features - features.mean(0)
    v = torch.linalg.svd(c, full_matrices=False).Vh[:2]
    sq = features.square().sum(1)
    far = sq[:, None] + sq[None] - 2 * features @ features.T
    far.fill_diagonal_(float("inf"))
    return c @ v.T, far.argmin(1)


# %% wrong="distances in half precision" says=["the distances are rounded"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    c = features - features.mean(0)
    v = torch.linalg.svd(c, full_matrices=False).Vh[:2]
    h = features.half()
    far = (h[:, None] - h).float().norm(dim=2).fill_diagonal_(float("inf"))
    return c @ v.T, far.argmin(1)


# %% wrong="the nearest by cosine" says=["nearest by angle (the cosine)"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    c = features - features.mean(0)
    v = torch.linalg.svd(c, full_matrices=False).Vh[:2]
    n = F.normalize(features, dim=1)
    sim = n @ n.T
    sim.fill_diagonal_(-2)
    return c @ v.T, sim.argmax(1)


# %% wrong="the sum of differences" breaks="by Euclidean distance" says=["not by Euclid's distance"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    c = features - features.mean(0)
    v = torch.linalg.svd(c, full_matrices=False).Vh[:2]
    far = torch.cdist(features, features, p=1)
    far.fill_diagonal_(float("inf"))
    return c @ v.T, far.argmin(1)


# %% wrong="leaves out what is at a distance of 0" breaks="Two equal samples are neighbours of each other" says=["a distance of 0 counts"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    c = features - features.mean(0)
    v = torch.linalg.svd(c, full_matrices=False).Vh[:2]
    far = (features[:, None] - features).norm(dim=2)
    far[far == 0] = float("inf")
    return c @ v.T, far.argmin(1)


# %% right="the Gram matrix of the centred features"
def embedding_map(writer, features, labels):
    writer.add_embedding(features, labels)
    c = features.double() - features.double().mean(0, keepdim=True)
    w, v = torch.linalg.eigh(c @ c.T)
    far = torch.cdist(c, c, compute_mode="donot_use_mm_for_euclid_dist")
    far += torch.eye(len(c), device=c.device).double() * far.max() * 10 + torch.eye(
        len(c), device=c.device
    )
    order = w.argsort(descending=True)[:2]
    return (v[:, order] * w[order].clamp(min=0).sqrt()).float(), far.min(dim=1).indices


# %% wrong="neighbours in the map" breaks="between all the features" says=["nearest in the map of two coordinates"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    coordinates = centred @ directions[:2].T
    distances = torch.cdist(coordinates, coordinates)
    distances.fill_diagonal_(float("inf"))
    return coordinates, distances.argmin(1)


# %% wrong="labels forgotten" breaks="with `labels` as metadata" says=["the projector's labels"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features)
    centred = features - features.mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    coordinates = centred @ directions[:2].T
    distances = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return coordinates, distances.argmin(1)


# %% wrong="the coordinates of features that aren't centred" breaks="of the centred features" says=["the features were not centred"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    _, _, directions = torch.linalg.svd(features, full_matrices=False)
    coordinates = features @ directions[:2].T
    distances = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return coordinates, distances.argmin(1)


# %% wrong="computes in float32" says=["float64, far from 0: coordinates", "float64 features keep their precision"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features.float() - features.float().mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    distances = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return centred @ directions.T, distances.argmin(1)


# %% wrong="centred over each sample's features" says=["each sample's own mean was subtracted"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(1, keepdim=True)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    coordinates = centred @ directions[:2].T
    distances = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return coordinates, distances.argmin(1)


# %% wrong="the directions of features that aren't centred" says=["centre them before the SVD"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    _, _, directions = torch.linalg.svd(features, full_matrices=False)
    coordinates = centred @ directions[:2].T
    distances = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return coordinates, distances.argmin(1)


# %% wrong="one direction twice" says=["the first direction stands there twice"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    coordinates = centred @ directions[[0, 0]].T
    distances = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return coordinates, distances.argmin(1)


# %% wrong="directions in half precision" says=["three on a line: coordinates"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    Vh = torch.linalg.svd(centred, full_matrices=False).Vh
    distance = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    distance.fill_diagonal_(float("inf"))
    Vh = Vh.half().to(Vh)
    return centred @ Vh[:2].T, distance.argmin(1)


# %% wrong="sorts the list of labels where it lies" says=["as they came and in their order"]
def embedding_map(writer, features, labels):
    labels.sort()
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    Vh = torch.linalg.svd(centred, full_matrices=False).Vh
    far = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    return centred @ Vh[:2].T, far.fill_diagonal_(float("inf")).argmin(1)


# %% wrong="numbers below 1e-6 of the centred cloud are taken for 0" says=["a tiny cloud, a view: coordinates"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    centred[centred.abs() < 1e-6] = 0
    Vh = torch.linalg.svd(centred, full_matrices=False).Vh
    far = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    return centred @ Vh[:2].T, far.fill_diagonal_(float("inf")).argmin(1)


# %% wrong="the largest distance on the diagonal" says=["three, equally far apart", "are their own neighbours"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    distances = torch.cdist(centred, centred)
    distances.fill_diagonal_(distances.max().item())
    return centred @ directions.T, distances.argmin(1)


# %% wrong="one buffer for the coordinates of all calls" says=["twelve, far from 0: coordinates: the call a second time", "changes the result of the first time"]
_places = {}


def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    new = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T
    places = _places.setdefault((new.shape, new.dtype), torch.empty_like(new)).copy_(new)
    far = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    return places, far.fill_diagonal_(float("inf")).argmin(1)


# %% wrong="kept by the tensor of features" says=["twelve, far from 0: coordinates: the call a second time", "gives other values than without"]
_maps = {}


def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    if features not in _maps:
        centred = features - features.mean(0)
        places = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T
        far = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
        _maps[features] = places, far.fill_diagonal_(float("inf")).argmin(1)
    return _maps[features]


# %% wrong="the directions of the first cloud of a shape for all" says=["twelve, far from 0: coordinates"]
_directions = {}


def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    key = features.shape, features.dtype
    if key not in _directions:
        _directions[key] = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    far = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    return centred @ _directions[key].T, far.fill_diagonal_(float("inf")).argmin(1)


# %% wrong="the first two of eigh's directions" says=["eigh's order is ascending"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    places = centred @ torch.linalg.eigh(centred.T @ centred).eigenvectors[:, :2]
    apart = torch.cdist(centred, centred, compute_mode="donot_use_mm_for_euclid_dist")
    return places, apart.fill_diagonal_(float("inf")).argmin(1)


# %% wrong="products of the centred features" says=["two groups, far from each other: neighbours: the distances are rounded"]
def embedding_map(
    writer: SummaryWriter, features: torch.Tensor, labels: list[str]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Features for the projector; their PCA coordinates and nearest neighbours."""
    writer.add_embedding(features, metadata=labels)
    with torch.no_grad():
        centred = features - features.mean(dim=0, keepdim=True)
        _, _, Vh = torch.linalg.svd(centred, full_matrices=False)
        coordinates = centred @ Vh[:2].mT
        squares = centred.square().sum(1)
        distances = squares[:, None] + squares[None, :] - 2 * centred @ centred.T
        distances.fill_diagonal_(float("inf"))
    return coordinates, distances.argmin(dim=1)


# %% wrong="drops short directions before it looks for neighbours" says=["two groups, far from each other: neighbours: nearest in the map of two coordinates"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    _, S, Vh = torch.linalg.svd(centred, full_matrices=False)
    rank = max(2, int((S > 1e-3 * S[0]).sum()))
    projected = centred @ Vh[:rank].T
    distances = torch.cdist(projected, projected, compute_mode="donot_use_mm_for_euclid_dist")
    distances.fill_diagonal_(float("inf"))
    return projected[:, :2], distances.argmin(1)


# %% wrong="cdist of the centred features, which multiplies from 26 rows on" says=["two groups, far from each other: neighbours: the distances are rounded"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    places = centred @ torch.linalg.svd(centred, full_matrices=False).Vh[:2].T
    return places, torch.cdist(centred, centred).fill_diagonal_(float("inf")).argmin(1)


# %% wrong="doubles, and cdist multiplies all the same" says=["two groups in float64, far from each other: neighbours: the distances are rounded"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    exact = features.double() - features.double().mean(0)
    places = exact @ torch.linalg.svd(exact, full_matrices=False).Vh[:2].T
    nearest = torch.cdist(exact, exact).fill_diagonal_(float("inf")).argmin(1)
    return places.to(features.dtype), nearest


# %% wrong="the diagonal of each block of rows" breaks="the index of the **nearest other** sample" says=["six hundred: neighbours: samples [256, 257, 258, 259, 260, 261] and 338 more are their own neighbours", "in blocks of rows"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    nearest = []
    for block in features.split(256):
        apart = torch.cdist(block, features, compute_mode="donot_use_mm_for_euclid_dist")
        nearest.append(apart.fill_diagonal_(float("inf")).argmin(1))
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:2]
    return centred @ directions.T, torch.cat(nearest)


# %% wrong="a random approximation of the directions" says=["near, but not exact", "torch.pca_lowrank"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    _, _, V = torch.pca_lowrank(features, q=2, niter=1)
    apart = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    nearest = apart.fill_diagonal_(float("inf")).argmin(1)
    return (features - features.mean(0)) @ V, nearest


# %% wrong="the shortest direction and the longest" says=["thirty, near each other, far from 0: coordinates", "take 0 and 1 (eig doesn't sort)"]
def embedding_map(writer, features, labels):
    writer.add_embedding(features, metadata=labels)
    centred = features - features.mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[[-1, 0]]
    far = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    return centred @ directions.T, far.fill_diagonal_(float("inf")).argmin(1)
