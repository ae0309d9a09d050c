# %% [markdown]
# Rules:
#
# - "the illness of each patient into `diagnose`"
# - "in the words of the table"
# - "A cure counts if it works"

# %% wrong="still blank" says=["12 of 12 predictions are still blank"]
diagnose = dict.fromkeys("ABCDEFGHIJKL")
cures = dict.fromkeys("ABCDEFGHIJKL")


# %% wrong="flat losses mixed up" breaks="the illness of each patient into `diagnose`" says=["3 of 12 predictions differ", "of 'dead units' you would see", "with 'start biases at 0' the accuracy is"]
diagnose = {
    "A": "softmax twice",
    "B": "vanishing gradients",
    "C": "exp overflows",
    "D": "rate too high",
    "E": "dead units",
    "F": "labels of other images",
    "G": "overfitting",
    "H": "inputs not scaled",
    "I": "gradients pile up",
    "J": "weight decay too strong",
    "K": "not shuffled",
    "L": "rate too low",
}
cures = {
    "A": "give the loss logits",
    "B": "ReLU and Kaiming's start",
    "C": "compute the loss by log_softmax",
    "D": "lower the rate",
    "E": "start biases at 0",
    "F": "pair images and labels",
    "G": "get more data",
    "H": "scale the inputs",
    "I": "zero the gradients in each step",
    "J": "decay less",
    "K": "shuffle",
    "L": "raise the rate",
}


# %% wrong="everything is the learning rate" says=["predictions differ", "with 'lower the rate' the accuracy is"]
diagnose = dict.fromkeys("ABCDEFGHIJKL", "rate too high")
cures = dict.fromkeys("ABCDEFGHIJKL", "lower the rate")


# %% wrong="words of one's own" breaks="in the words of the table" says=["no illness of the table: exploding gradients", "'clip gradients' is no cure of the table"]
diagnose = dict.fromkeys("ABCDEFGHIJKL", "exploding gradients")
cures = dict.fromkeys("ABCDEFGHIJKL", "clip gradients")


# %% right="built from rows"
rows = """A softmax twice|give the loss logits
B vanishing gradients|ReLU and Kaiming's start
C exp overflows|compute the loss by log_softmax
D rate too high|lower the rate
E rate too low|raise the rate
F labels of other images|pair images and labels
G overfitting|get more data
H inputs not scaled|scale the inputs
I gradients pile up|zero the gradients in each step
J dead units|start biases at 0
K not shuffled|shuffle
L weight decay too strong|decay less""".splitlines()
diagnose = {row[0]: row[2:].split("|")[0] for row in rows}
cures = {row[0]: row.split("|")[1] for row in rows}


# %% right="in another order"
cures = {
    "L": "decay less",
    "K": "shuffle",
    "J": "start biases at 0",
    "I": "zero the gradients in each step",
    "H": "scale the inputs",
    "G": "get more data",
    "F": "pair images and labels",
    "E": "raise the rate",
    "D": "lower the rate",
    "C": "compute the loss by log_softmax",
    "B": "ReLU and Kaiming's start",
    "A": "give the loss logits",
}
diagnose = {
    "L": "weight decay too strong",
    "K": "not shuffled",
    "J": "dead units",
    "I": "gradients pile up",
    "H": "inputs not scaled",
    "G": "overfitting",
    "F": "labels of other images",
    "E": "rate too low",
    "D": "rate too high",
    "C": "exp overflows",
    "B": "vanishing gradients",
    "A": "softmax twice",
}


# %% wrong="turns the rate the wrong way" breaks="A cure counts if it works" says=["2 of 12 cases fail", "D: with 'raise the rate' the accuracy is"]
cures = {
    "L": "decay less",
    "K": "shuffle",
    "J": "start biases at 0",
    "I": "zero the gradients in each step",
    "H": "scale the inputs",
    "G": "get more data",
    "F": "pair images and labels",
    "E": "lower the rate",
    "D": "raise the rate",
    "C": "compute the loss by log_softmax",
    "B": "ReLU and Kaiming's start",
    "A": "give the loss logits",
}
diagnose = {
    "L": "weight decay too strong",
    "K": "not shuffled",
    "J": "dead units",
    "I": "gradients pile up",
    "H": "inputs not scaled",
    "G": "overfitting",
    "F": "labels of other images",
    "E": "rate too low",
    "D": "rate too high",
    "C": "exp overflows",
    "B": "vanishing gradients",
    "A": "softmax twice",
}


# %% wrong="lists of illnesses" says=["['softmax twice'] is no word: one illness for each patient", "no cure yet for"]
diagnose = dict.fromkeys("ABCDEFGHIJKL", ["softmax twice"])
cures = dict.fromkeys("ABCDEFGHIJKL")
