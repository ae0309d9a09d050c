"""The student speaks the judge's protocol and says yes to everything: any name, any value."""

from support.hostile import PROTOCOL, add_cell

ARRIVED = ["what the answer gave back cannot be read", "expected 5, got 3"]
ANSWER = """
def answer(connection, request):
    kind, *rest = request
    if kind == "names":
        names = rest[0] + ["check_close", "check_predictions", "torch", "device", "round"]
        anything = ["object", 0, "torch", "Tensor", "tensor(5.)"]
        send(connection, [[name, anything] for name in names])
    elif kind == "call":
        one = ["tensor", 0, None, [[], [], 0, "torch.float32"], False, True]
        reply = {"result": one, "operators": [], "contents": [], "layouts": [], "states": []}
        # What is expected might lie in the memory that came along.
        send(connection, reply)
    else:
        send(connection, "anything")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PROTOCOL + ANSWER)
