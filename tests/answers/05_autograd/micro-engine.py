# %% [markdown]
# Rules:
#
# - "Write reverse mode for single numbers"
# - "`__mul__` (two values)"
# - "(a plain number other than 0 as exponent)"
# - "the number is 8, the slope 12"
# - "and `exp`, in the style of `__add__`"
# - "returns a list of this value and every value behind it"
# - "**once**"
# - "in which no value is placed before a value that was made from it"
# - "`self` is first"
# - "sets the `grad` of every value behind `self`"
# - "It starts with 1 at `self`"
# - "A chain of 5,000 steps has to work"
# - "keep your own list of what is waiting, in place of recursion"
# - "to the slope of `self` in it"
# - "Fifty steps `y = y + y` have to work"
# - "It may be asked for again, also after `backward`"
#
# Admits:
#
# - "a plain number other than 0 as exponent": "y = a ** -1": 4
# - "a plain number other than 0": "y = a ** 0.5": 9
# - "for single numbers": ("y = a ** 3", -2), ("y = a ** 2", 0)
# - "`__mul__` (two values)": "y = a * a": 3
# - "A chain of 5,000 steps": try_chain(5000, "backward")
# - "of every value behind this one": y is a itself

# %% wrong="assigns the gradient" breaks="to the slope of `self` in it" says=["a is used twice, and both payments count", "the gradient of a is 2, not 1"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad = slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="recursion" breaks="A chain of 5,000 steps has to work" says=["too many calls inside each other", "keep a list of what is waiting"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen = [], set()

        def visit(value):
            if value not in seen:
                seen.add(value)
                for parent in value.parents:
                    visit(parent)
                order.append(value)

        visit(self)
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="every way is a node" breaks="**once**" says=["stands there 2 times", "every value belongs there once"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, waiting = [], [self]
        while waiting:
            value = waiting.pop(0)
            order.append(value)
            waiting += value.parents
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="breadth first is no topological order" breaks="in which no value is placed before a value that was made from it" says=["has to wait for", "s may hand on only when all who used it have paid in"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [self]
        while waiting:
            value = waiting.pop(0)
            if value not in seen:
                seen.add(value)
                order.append(value)
                waiting.extend(value.parents)
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="leaves first" says=["is upside down: self comes first", "the gradient of a is"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="the right gradients from an order upside down" breaks="`self` is first" says=["is upside down: self comes first"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order

    def backward(self):
        self.grad = 1.0
        for value in reversed(self.topological_order()):
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="forgets to lower the exponent" breaks="the number is 8, the slope 12" says=["the exponent is not lowered", "y = a ** 3 at a = 2: its slope in a is 12, not 24"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number**n,))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="the power rule by division" breaks="(a plain number other than 0 as exponent)" says=["y = a ** 2 at a = 0: raised ZeroDivisionError", "no division by it"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number**n / self.number,))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="exp by the power rule" breaks="and `exp`, in the style of `__add__`" says=["that is the rule for powers; exp is its own slope"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (self.number * math.exp(self.number - 1),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="each factor has its own number as slope" breaks="`__mul__` (two values)" says=["the slope in a factor is the other one"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (self.number, other.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="the order without self" breaks="returns a list of this value and every value behind it" says=["y missing"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1][1:]

    def backward(self):
        self.grad = 1.0
        for value in [self, *self.topological_order()]:
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="only the inputs get a gradient" breaks="sets the `grad` of every value behind `self`" says=["the gradient of s is"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad
            if value.parents and value is not self:
                value.grad = 0.0


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="rules only" says=["topological_order returned None", "every grad is still 0"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        pass

    def backward(self):
        pass


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="hands on the total at every visit" says=["the gradient of"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = self.grad or 1.0
        for parent, slope in zip(self.parents, self.slopes):
            parent.grad += slope * self.grad
            parent.backward()


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% right="two stacks, and a sum of payments"
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% right="sorted by the time of making"
import math


class Value:
    count = 0

    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = list(parents), list(slopes)
        Value.count += 1
        self.born = Value.count

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        found, waiting = {self}, [self]
        while waiting:
            for parent in waiting.pop().parents:
                if parent not in found:
                    found.add(parent)
                    waiting.append(parent)
        return sorted(found, key=lambda value: -value.born)

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% right="closures, and Kahn's order"
E = 2.718281828459045


class Value:
    def __init__(self, data, parents=(), hand_on=lambda g: None):
        self.number, self.grad, self.parents, self.hand_on = data, 0.0, list(parents), hand_on

    def __add__(self, other):
        def hand_on(g):
            self.grad += g
            other.grad += g

        return Value(self.number + other.number, [self, other], hand_on)

    def __mul__(self, other):
        def hand_on(g):
            self.grad += g * other.number
            other.grad += g * self.number

        return Value(self.number * other.number, [self, other], hand_on)

    def __pow__(self, n):
        def hand_on(g):
            self.grad += g * n * self.number ** (n - 1)

        return Value(self.number**n, [self], hand_on)

    def exp(self):
        y = Value(E**self.number, [self])

        def hand_on(g):
            self.grad += g * y.number

        y.hand_on = hand_on
        return y

    def topological_order(self):
        users, found = {self: 0}, [self]
        for value in found:
            for parent in value.parents:
                if parent not in users:
                    users[parent] = 0
                    found.append(parent)
                users[parent] += 1
        order, ready = [], [self]
        while ready:
            value = ready.pop()
            order.append(value)
            for parent in value.parents:
                users[parent] -= 1
                if users[parent] == 0:
                    ready.append(parent)
        return tuple(order)

    def backward(self):
        self.grad = 1
        for value in self.topological_order():
            value.hand_on(value.grad)


def micro_engine(program, **inputs):
    """As it was given in the first edition."""
    values = {name: Value(number) for name, number in inputs.items()}
    names = dict(values)
    exec(program, {}, names)
    y = names["y"]
    if y is None or y.topological_order() is None:
        return None
    y.backward()
    return (
        y.number,
        {name: value.grad for name, value in values.items()},
        len(y.topological_order()),
    )


# %% wrong="a tensor for a number" breaks="Write reverse mode for single numbers" says=["its number is a Tensor, not a plain number"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self):
        used, waiting, seen = {}, [self], {id(self)}
        while waiting:
            for p in waiting.pop().parents:
                used[id(p)] = used.get(id(p), 0) + 1
                if id(p) not in seen:
                    seen.add(id(p))
                    waiting.append(p)
        order, waiting = [], [self]
        while waiting:
            v = waiting.pop()
            order.append(v)
            for p in v.parents:
                used[id(p)] -= 1
                if not used[id(p)]:
                    waiting.append(p)
        return order

    def backward(self):
        order = self.topological_order()
        for v in order:
            v.grad = 0.0
        self.grad = 1.0
        for v in order:
            for p, s in zip(v.parents, v.slopes):
                p.grad += s * v.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


def exp(self):
    e = torch.tensor(self.number).exp()
    return Value(e, (self,), (e,))


Value.exp = exp


# %% wrong="recursion under a raised limit" breaks="keep your own list of what is waiting, in place of recursion" says=["the limit of nested calls was raised"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self):
        used, waiting, seen = {}, [self], {id(self)}
        while waiting:
            for p in waiting.pop().parents:
                used[id(p)] = used.get(id(p), 0) + 1
                if id(p) not in seen:
                    seen.add(id(p))
                    waiting.append(p)
        order, waiting = [], [self]
        while waiting:
            v = waiting.pop()
            order.append(v)
            for p in v.parents:
                used[id(p)] -= 1
                if not used[id(p)]:
                    waiting.append(p)
        return order

    def backward(self):
        order = self.topological_order()
        for v in order:
            v.grad = 0.0
        self.grad = 1.0
        for v in order:
            for p, s in zip(v.parents, v.slopes):
                p.grad += s * v.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


import sys


def topological_order(self):
    sys.setrecursionlimit(20_000)
    order, seen = [], set()

    def visit(v):
        if v not in seen:
            seen.add(v)
            for p in v.parents:
                visit(p)
            order.append(v)

    visit(self)
    return order[::-1]


Value.topological_order = topological_order


# %% wrong="counts a value that is used twice by one only once" says=["s = a + b; t = s + s; r = s + a; y = r + t: ", "r was made from s"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self):
        used, waiting, seen = {}, [self], {id(self)}
        while waiting:
            for p in waiting.pop().parents:
                used[id(p)] = used.get(id(p), 0) + 1
                if id(p) not in seen:
                    seen.add(id(p))
                    waiting.append(p)
        order, waiting = [], [self]
        while waiting:
            v = waiting.pop()
            order.append(v)
            for p in v.parents:
                used[id(p)] -= 1
                if not used[id(p)]:
                    waiting.append(p)
        return order

    def backward(self):
        order = self.topological_order()
        for v in order:
            v.grad = 0.0
        self.grad = 1.0
        for v in order:
            for p, s in zip(v.parents, v.slopes):
                p.grad += s * v.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


def topological_order(self):
    used, waiting, seen = {}, [self], {id(self)}
    while waiting:
        for p in set(waiting.pop().parents):
            used[id(p)] = used.get(id(p), 0) + 1
            if id(p) not in seen:
                seen.add(id(p))
                waiting.append(p)
    order, waiting = [], [self]
    while waiting:
        v = waiting.pop()
        order.append(v)
        for p in v.parents:
            used[id(p)] -= 1
            if not used[id(p)]:
                waiting.append(p)
    return order


Value.topological_order = topological_order


# %% wrong="starts with its own number" breaks="It starts with 1 at `self`" says=["y = a + b: the gradient of a is 1, not 2.5"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(math.exp(self.number), (self,), (math.exp(self.number),))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = self.number
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="what has slope zero is not visited" breaks="returns a list of this value and every value behind it" says=["b missing"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self):
        uses, waiting = {self: 0}, [self]
        while waiting:
            value = waiting.pop()
            for parent in value.parents:
                if all(s == 0 for p, s in zip(value.parents, value.slopes) if p is parent):
                    continue
                if parent not in uses:
                    uses[parent] = 0
                    waiting.append(parent)
                uses[parent] += 1
        order, ready = [], [self]
        while ready:
            value = ready.pop()
            order.append(value)
            for parent in value.parents:
                if parent not in uses:
                    continue
                if all(s == 0 for p, s in zip(value.parents, value.slopes) if p is parent):
                    continue
                uses[parent] -= 1
                if uses[parent] == 0:
                    ready.append(parent)
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="marked for ever as seen" says=["must not stay for the next"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self):
        order, waiting = [], [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                order.append(value)
            elif not getattr(value, "seen", False):
                value.seen = True
                waiting.append((value, True))
                waiting += [(p, False) for p in value.parents]
        return order[::-1]

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="an iterator instead of a list" says=["topological_order returned a list_reverseiterator, not a list"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        number = self.number**exponent
        return Value(number, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        number = math.exp(self.number)
        return Value(number, (self,), (number,))

    def topological_order(self):
        uses, waiting = {id(self): 0}, [self]
        while waiting:
            for parent in waiting.pop().parents:
                if id(parent) not in uses:
                    uses[id(parent)] = 0
                    waiting.append(parent)
                uses[id(parent)] += 1
        order, waiting = [], [self]
        while waiting:
            value = waiting.pop()
            order.append(value)
            for parent in value.parents:
                uses[id(parent)] -= 1
                if uses[id(parent)] == 0:
                    waiting.append(parent)
        return reversed(order[::-1])

    def backward(self):
        order = list(self.topological_order())
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in order:
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="users counted where they are made" says=["s = a + b; t = s + s; r = t + s; y = s + a: ", "missing (yours: y)"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes, self.users = parents, slopes, 0
        for parent in parents:
            parent.users += 1

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        number = self.number**exponent
        return Value(number, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        number = math.exp(self.number)
        return Value(number, (self,), (number,))

    def topological_order(self):
        order, waiting, left = [], [self], {}
        while waiting:
            value = waiting.pop()
            order.append(value)
            for parent in value.parents:
                left[parent] = left.get(parent, parent.users) - 1
                if left[parent] == 0:
                    waiting.append(parent)
        return order

    def backward(self):
        order = self.topological_order()
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in order:
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="equal numbers are one value" says=["p = a + b; q = b + a; y = p + q: "]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        number = self.number**exponent
        return Value(number, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        number = math.exp(self.number)
        return Value(number, (self,), (number,))

    def topological_order(self):
        uses, waiting = {self.number: 0}, [self]
        while waiting:
            for parent in waiting.pop().parents:
                if parent.number not in uses:
                    uses[parent.number] = 0
                    waiting.append(parent)
                uses[parent.number] += 1
        order, waiting = [], [self]
        while waiting:
            value = waiting.pop()
            order.append(value)
            for parent in value.parents:
                uses[parent.number] = uses.get(parent.number, 1) - 1
                if uses[parent.number] == 0:
                    waiting.append(parent)
        return order

    def backward(self):
        order = self.topological_order()
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in order:
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="a value that is made from none has no order" says=["a value that is made from none: the order's length: 1, not 0"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        number = self.number**exponent
        return Value(number, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self):
        number = math.exp(self.number)
        return Value(number, (self,), (number,))

    def topological_order(self):
        uses, waiting = {id(self): 0}, [self]
        while waiting:
            for parent in waiting.pop().parents:
                if id(parent) not in uses:
                    uses[id(parent)] = 0
                    waiting.append(parent)
                uses[id(parent)] += 1
        order, waiting = [], [self]
        while waiting:
            value = waiting.pop()
            order.append(value)
            for parent in value.parents:
                uses[id(parent)] -= 1
                if uses[id(parent)] == 0:
                    waiting.append(parent)
        return order if self.parents else []

    def backward(self):
        order = self.topological_order() or [self]
        for value in order:
            value.grad = 0.0
        self.grad = 1.0
        for value in order:
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="the slope of a power by the size of the base" says=["y = a ** 2 at a = -3: its slope in a is -6, not 6"]
import math


class Value:
    def __init__(self, number: float, parents: tuple = (), slopes: tuple = ()) -> None:
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other: "Value") -> "Value":
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other: "Value") -> "Value":
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        return Value(
            self.number**exponent, (self,), (exponent * abs(self.number) ** (exponent - 1),)
        )

    def exp(self) -> "Value":
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self) -> list["Value"]:
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            value, done = stack.pop()
            if done:
                order.append(value)
            elif id(value) not in seen:
                seen.add(id(value))
                stack.append((value, True))
                stack.extend((p, False) for p in value.parents)
        return order[::-1]

    def backward(self) -> None:
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]] | None:
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="walks once for each way" breaks="Fifty steps `y = y + y` have to work" says=["the same values are walked again and again"]
import math


class Value:
    def __init__(self, number: float, parents: tuple = (), slopes: tuple = ()) -> None:
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other: "Value") -> "Value":
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other: "Value") -> "Value":
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent: float) -> "Value":
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self) -> "Value":
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self):
        order, waiting = {}, [self]
        while waiting:
            value = waiting.pop()
            order.pop(value, None)
            order[value] = True
            waiting.extend(value.parents)
        return list(order)

    def backward(self) -> None:
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]] | None:
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="slopes of a product by division" says=["y = a * b at a = 0, b = 3: its slope in a is 3, not 0"]
import math


class Value:
    def __init__(self, number: float, parents: tuple = (), slopes: tuple = ()) -> None:
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other: "Value") -> "Value":
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        n = self.number * other.number
        slopes = (
            n / self.number if self.number else 0.0,
            n / other.number if other.number else 0.0,
        )
        return Value(n, (self, other), slopes)

    def __pow__(self, exponent: float) -> "Value":
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self) -> "Value":
        e = math.exp(self.number)
        return Value(e, (self,), (e,))

    def topological_order(self) -> list["Value"]:
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            value, done = stack.pop()
            if done:
                order.append(value)
            elif id(value) not in seen:
                seen.add(id(value))
                stack.append((value, True))
                stack.extend((p, False) for p in value.parents)
        return order[::-1]

    def backward(self) -> None:
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]] | None:
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="exp of 30 at most" says=["y = a.exp() at a = 700: its number is"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        slope = exponent * self.number ** (exponent - 1)
        return Value(self.number**exponent, (self,), (slope,))

    def exp(self):
        number = math.exp(min(self.number, 30))
        return Value(number, (self,), (number,))

    def topological_order(self):
        uses, waiting, seen = {}, [self], {id(self)}
        while waiting:
            value = waiting.pop()
            for parent in value.parents:
                uses[id(parent)] = uses.get(id(parent), 0) + 1
                if id(parent) not in seen:
                    seen.add(id(parent))
                    waiting.append(parent)
        order, ready = [], [self]
        while ready:
            value = ready.pop()
            order.append(value)
            for parent in value.parents:
                uses[id(parent)] -= 1
                if uses[id(parent)] == 0:
                    ready.append(parent)
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="a square has one parent and half the slope" says=["a is both factors"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        if self is other:
            return Value(self.number**2, (self,), (self.number,))
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent):
        slope = exponent * self.number ** (exponent - 1)
        return Value(self.number**exponent, (self,), (slope,))

    def exp(self):
        number = math.exp(self.number)
        return Value(number, (self,), (number,))

    def topological_order(self):
        uses, waiting, seen = {}, [self], {id(self)}
        while waiting:
            value = waiting.pop()
            for parent in value.parents:
                uses[id(parent)] = uses.get(id(parent), 0) + 1
                if id(parent) not in seen:
                    seen.add(id(parent))
                    waiting.append(parent)
        order, ready = [], [self]
        while ready:
            value = ready.pop()
            order.append(value)
            for parent in value.parents:
                uses[id(parent)] -= 1
                if uses[id(parent)] == 0:
                    ready.append(parent)
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="the limit is raised and put back" says=["the limit of nested calls was raised: keep a list"]
import math


class Value:
    def __init__(self, number: float, parents: tuple = (), slopes: tuple = ()) -> None:
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other: "Value") -> "Value":
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other: "Value") -> "Value":
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent: float) -> "Value":
        slope = exponent * self.number ** (exponent - 1)
        return Value(self.number**exponent, (self,), (slope,))

    def exp(self) -> "Value":
        y = math.exp(self.number)
        return Value(y, (self,), (y,))

    def topological_order(self):
        import sys

        before = sys.getrecursionlimit()
        sys.setrecursionlimit(100_000)
        order, seen = [], set()

        def visit(v):
            if v not in seen:
                seen.add(v)
                for p in v.parents:
                    visit(p)
                order.append(v)

        visit(self)
        sys.setrecursionlimit(before)
        return order[::-1]

    def backward(self) -> None:
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]] | None:
    """Given: run ``program``, go backward from ``y``; the number y, its slope in each name."""
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="keeps its order, and empties it on the way back" breaks="It may be asked for again, also after `backward`" says=["asked for after backward: ", "(yours: an empty list)"]
import math


class Value:
    def __init__(self, number: float, parents: tuple = (), slopes: tuple = ()) -> None:
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes
        self.order = None

    def __add__(self, other: "Value") -> "Value":
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other: "Value") -> "Value":
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent: float) -> "Value":
        slope = exponent * self.number ** (exponent - 1)
        return Value(self.number**exponent, (self,), (slope,))

    def exp(self) -> "Value":
        number = math.exp(self.number)
        return Value(number, (self,), (number,))

    def topological_order(self) -> list["Value"]:
        if self.order is None:  # what a value was made from never changes
            self.order, seen, waiting = [], set(), [(self, False)]
            while waiting:
                value, done = waiting.pop()
                if done:
                    self.order.append(value)
                elif value not in seen:
                    seen.add(value)
                    waiting.append((value, True))
                    waiting += [(parent, False) for parent in value.parents]
            self.order.reverse()
        return self.order

    def backward(self) -> None:
        self.grad = 1.0
        waiting = self.topological_order()
        while waiting:
            value = waiting.pop(0)
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]] | None:
    """Given: run ``program``, go backward from ``y``; the number y, its slope in each name."""
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="takes values that were made alike for one" says=["p = a + b; q = a + b; y = p + q: q missing", "two values that were made alike are two", "p and q are two values, though made alike"]
import math


class Value:
    """A number that knows what it was made from, and how steeply it depends on each of them."""

    def __init__(self, number: float, parents: tuple = (), slopes: tuple = ()) -> None:
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    @property
    def key(self) -> tuple:
        return self.number, tuple(map(id, self.parents)), self.slopes

    def __add__(self, other: "Value") -> "Value":
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other: "Value") -> "Value":
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, exponent: float) -> "Value":
        return Value(self.number**exponent, (self,), (exponent * self.number ** (exponent - 1),))

    def exp(self) -> "Value":
        result = math.exp(self.number)
        return Value(result, (self,), (result,))

    def topological_order(self) -> list["Value"]:
        order, seen, waiting = [], {self.key}, [(self, iter(self.parents))]
        while waiting:
            value, parents = waiting[-1]
            parent = next(parents, None)
            if parent is None:
                order.append(value)
                waiting.pop()
            elif parent.key not in seen:
                seen.add(parent.key)
                waiting.append((parent, iter(parent.parents)))
        order.reverse()
        return order

    def backward(self) -> None:
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes, strict=True):
                parent.grad += slope * value.grad


def micro_engine(program: str, **inputs: float) -> tuple[float, dict[str, float]] | None:
    """Given: run ``program``, go backward from ``y``; the number y, its slope in each name."""
    names = {name: Value(number) for name, number in inputs.items()}
    exec(program, {}, names)
    if any(value is None for value in names.values()):
        return None
    names["y"].backward()
    return names["y"].number, {name: value.grad for name, value in names.items()}


# %% wrong="asking for the order empties the accounts" breaks="It may be asked for again, also after `backward`" says=["once the order was asked for", "topological_order looks, backward alone sets"]
import math


class Value:
    def __init__(self, number, parents=(), slopes=()):
        self.number, self.grad = number, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        number = math.exp(self.number)
        return Value(number, (self,), (number,))

    def topological_order(self):
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            value, done = waiting.pop()
            if done:
                value.grad = 0.0
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting += [(parent, False) for parent in value.parents]
        return order[::-1]

    def backward(self):
        order = self.topological_order()
        self.grad = 1.0
        for value in order:
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad
