"""Spoken by the student: arguments get other contents, sizes and layouts, to trip up the judge."""

from support.hostile import PROTOCOL, add_cell

ARRIVED = ["an argument was changed (its shape, stride or storage)"]
ANSWER = """
turn = 0
def answer(connection, request):
    global turn
    turn += 1
    five = struct.pack("f", 5.0)
    new = ["tensor", 9, 0, [[], [], 0, "torch.float32"], False, True, False]
    if isinstance(request, list):
        function = of_the_answer(0, "a", "function", "f")
        send(connection, Names([[name, function] for name in request]))
        return
    replies = [
        ({"result": ["same", 1], "contents": [[0, 0]], "layouts": []}, [five * 100]),
        ({"error": 5}, []),
        ({"result": ["same", 0], "contents": [[0, 0], [1, 0]], "layouts": []}, [b""]),
        ({"result": ["same", 0], "layouts": [[0, [[], [], 0, "torch.float32"]]]}, []),
        ({"result": ["same", 0], "layouts": [[0, [[9], [9], 9, "torch.int8"]]]}, []),
        ({"result": ["same", -1], "contents": [[-1, -1]], "layouts": [[-1, None]]}, [five]),
        ({"result": new, "contents": [[True, True]], "layouts": 5}, [five]),
        ({"result": ["same", 0], "states": [[0, 0]]}, [bytes(5056)]),
        ({"result": ["same", 0], "states": [[0, 0], [1, 0], [-1, 0]]}, [five]),
        ({"error": {"classes": [["builtins", "ValueError"]], "lines": 5, "message": [1]}}, []),
        (None, []), ([], []), ("error", []), ({"operators": 5}, []),
    ]
    reply, blobs = replies[turn % len(replies)]
    send(connection, Called(**nothing | reply) if isinstance(reply, dict) else reply, blobs)
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, PROTOCOL + ANSWER)
