# %% [markdown]
# Rules:
#
# - "minus the natural logarithm"
# - "of the probability that the right class got"
# - "as a tensor of shape ()"
# - "Return a number, plain or as a tensor of shape ()"
# - "`classes` is a whole number from 1 on"
#
# Admits:
#
# - "from 1 on": for classes in (2, 10, 1, 37, 5000, 10**6)

# %% wrong="the probability" says=["take its logarithm"]
def knows_nothing(classes):
    return 1 / classes


# %% wrong="forgets the minus" says=["a price is minus the logarithm"]
def knows_nothing(classes):
    return math.log(1 / classes)


# %% wrong="in bits" breaks="minus the natural logarithm" says=["that is in bits"]
def knows_nothing(classes):
    return math.log2(classes)


# %% wrong="how often it is wrong" says=["how often a guess is wrong"]
def knows_nothing(classes):
    return 1 - 1 / classes


# %% wrong="base ten" says=["logarithm to base 10"]
def knows_nothing(classes):
    return math.log10(classes)


# %% wrong="nothing yet" says=["is None: is there an answer yet"]
def knows_nothing(classes):
    # YOUR CODE HERE
    ...


# %% right="asks the library"
def knows_nothing(classes):
    return F.cross_entropy(torch.zeros(1, classes), torch.tensor([0])).item()


# %% right="entropy of equal shares, a tensor"
def knows_nothing(classes):
    return torch.special.entr(torch.full((classes,), 1 / classes)).sum()


# %% wrong="entropy term of one class only" breaks="of the probability that the right class got" says=["counts in full"]
def knows_nothing(classes):
    p = 1 / classes
    return -p * math.log(p)


# %% wrong="values copied from the cases" says=["37 classes", "looks in a list of answers"]
def knows_nothing(classes):
    return {1: 0.0, 2: 0.6931, 10: 2.3026}[classes]


# %% wrong="rounded to four digits" says=["rounded on the way"]
def knows_nothing(classes):
    return round(math.log(classes), 4)


# %% wrong="in a tensor of shape (1,)" breaks="as a tensor of shape ()" says=["has shape (1,), expected one number"]
def knows_nothing(classes):
    return torch.tensor([math.log(classes)])


# %% wrong="a class less" says=["that is for a class less", "8.516993171 (that is for"]
def knows_nothing(classes: int) -> float:
    return math.log(max(classes - 1, 1))


# %% wrong="log1p" says=["that is for a class more"]
def knows_nothing(classes: int) -> float:
    return math.log1p(classes)


# %% right="the negative log-likelihood of a log-softmax of zeros"
def knows_nothing(classes: int) -> float:
    return F.nll_loss(torch.zeros(1, classes).log_softmax(1), torch.tensor([classes - 1]))


# %% wrong="two classes at least" breaks="`classes` is a whole number from 1 on" says=["knows_nothing(1): expected 0, got 0.69315"]
def knows_nothing(classes):
    return torch.tensor(float(max(classes, 2)), dtype=torch.float64).log()


# %% wrong="a class more where there are many" says=["5000 classes: knows_nothing(5000): expected 8.517193191, got 8.517393171 (that is for a class more"]
def knows_nothing(classes):
    return math.log(classes + 1) if classes > 100 else math.log(classes)


# %% wrong="the prices of all other classes" says=["only the right class has a price"]
def knows_nothing(classes):
    return (classes - 1) * -math.log(1 / classes)


# %% wrong="nll_loss of probabilities" says=["take minus its logarithm"]
def knows_nothing(classes):
    return F.nll_loss(torch.full((1, classes), 1 / classes), torch.tensor([0]))


# %% right="a distribution's entropy"
def knows_nothing(classes):
    return torch.distributions.Categorical(torch.ones(classes)).entropy()


# %% wrong="a probability that is never below 1e-4" breaks="`classes` is a whole number from 1 on" says=["1000000 classes"]
def knows_nothing(classes):
    return -math.log(max(1 / classes, 1e-4))


# %% wrong="in bfloat16" says=["half precision keeps three digits"]
def knows_nothing(classes):
    return torch.zeros(classes, dtype=torch.bfloat16).logsumexp(dim=0)


# %% wrong="binary cross-entropy of the classes" says=["binary_cross_entropy is a mean over the classes; the right one alone has a price"]
def knows_nothing(classes):
    probability = torch.full((classes,), 1 / classes)
    return F.binary_cross_entropy(probability, F.one_hot(torch.tensor(0), classes).float()).item()


# %% wrong="scores that are drawn" says=["each class has the same probability: nothing is drawn"]
def knows_nothing(classes):
    return F.cross_entropy(0.5 * torch.randn(2, classes), torch.zeros(2, dtype=torch.long)).item()


# %% wrong="an array of no dimensions" breaks="Return a number, plain or as a tensor of shape ()" says=["is a NumPy array, not a plain number or tensor"]
def knows_nothing(classes):
    import numpy as np

    return np.asarray(-np.log(1 / classes))


# %% wrong="a little added to the probability" says=["1000000 classes", "something was added to the probability, or it was clamped"]
def knows_nothing(classes):
    return -math.log(1 / classes + 1e-8)
