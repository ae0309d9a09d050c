"""The student speaks the judge's protocol and says yes to everything: any name, any value."""

from support.hostile import PROTOCOL, add_cell

ARRIVED = ["keep the dict, with a shape for each expression", "expected 5, got 3"]
ANSWER = """
def answer(connection, request):
    if isinstance(request, list):
        names = request + ["check_close", "check_predictions", "torch", "device", "round"]
        anything = of_the_answer(0, "torch", "Tensor", "tensor(5.)")
        send(connection, Names([[name, anything] for name in names]))
    elif isinstance(request, Call):
        # What is expected might lie in the memory that came along.
        one = ["tensor", 0, None, [[], [], 0, "torch.float32"], False, True, False]
        send(connection, Called(**nothing | {"result": one}))
    else:
        send(connection, "anything")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PROTOCOL + ANSWER)
