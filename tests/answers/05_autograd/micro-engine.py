# %% wrong="assigns the gradient" says=["the gradient of a is 6, not 3", "its slopes add up"]
E = 2.718281828459045


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.number, self.grad = data, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(E**self.number, (self,), (E**self.number,))

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
                parent.grad = slope * value.grad


def micro_engine(program, **inputs):
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


# %% wrong="every way is a node" says=["the order has 3 values, not 2: every value belongs into the order once"]
E = 2.718281828459045


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.number, self.grad = data, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(E**self.number, (self,), (E**self.number,))

    def topological_order(self):
        order = [self]
        for parent in self.parents:
            order += parent.topological_order()
        return order

    def backward(self, upstream=1.0):
        self.grad += upstream
        for parent, slope in zip(self.parents, self.slopes):
            parent.backward(upstream * slope)


def micro_engine(program, **inputs):
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


# %% wrong="breadth first is no topological order" says=["s may hand on only when all its parts have arrived"]
E = 2.718281828459045


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.number, self.grad = data, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(E**self.number, (self,), (E**self.number,))

    def topological_order(self):
        order, waiting = [], [self]
        while waiting:
            value = waiting.pop(0)
            if value not in order:
                order.append(value)
                waiting.extend(value.parents)
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
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


# %% wrong="forgets to lower the exponent" says=["a to the n has the slope n times a to the n - 1"]
E = 2.718281828459045


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.number, self.grad = data, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number**n,))

    def exp(self):
        return Value(E**self.number, (self,), (E**self.number,))

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


# %% wrong="hands on the total at every visit" says=["the gradient of"]
E = 2.718281828459045


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.number, self.grad = data, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(E**self.number, (self,), (E**self.number,))

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
        self.grad = self.grad or 1.0
        for parent, slope in zip(self.parents, self.slopes):
            parent.grad += slope * self.grad
            parent.backward()


def micro_engine(program, **inputs):
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


# %% wrong="leaves first" says=["the gradient of a is"]
E = 2.718281828459045


class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.number, self.grad = data, 0.0
        self.parents, self.slopes = parents, slopes

    def __add__(self, other):
        return Value(self.number + other.number, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Value(self.number * other.number, (self, other), (other.number, self.number))

    def __pow__(self, n):
        return Value(self.number**n, (self,), (n * self.number ** (n - 1),))

    def exp(self):
        return Value(E**self.number, (self,), (E**self.number,))

    def topological_order(self):
        order, seen = [], set()

        def visit(value):
            if value not in seen:
                seen.add(value)
                for parent in value.parents:
                    visit(parent)
                order.append(value)

        visit(self)
        return order

    def backward(self):
        self.grad = 1.0
        for value in self.topological_order():
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += slope * value.grad


def micro_engine(program, **inputs):
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
