"""The kernel says what no kernel says: messages without parts, of wrong kinds, unsigned."""

from support.hostile import ERROR, EVERYTHING, RIGHT_ERROR, RIGHT_SHAPES, SHAPES, add_cell, answer

ARRIVED = ["all is said"]
EARNS = EVERYTHING
BROKEN = """
kernel = get_ipython().kernel
session, socket, parent = kernel.session, kernel.iopub_socket, kernel.get_parent()
def say(kind, content, **more):
    session.send(socket, kind, content, parent=parent, **more)
for kind in ("stream", "display_data", "execute_result", "update_display_data", "error", "status",
             "clear_output", "execute_input", "comm_open", "comm_msg", "nonsense"):
    for content in ({}, {"data": 5}, {"data": {"text/plain": [1]}}, {"text": 5, "name": "stdout"},
                    {"text": "a", "name": "<b>"}, {"execution_state": "nonsense"},
                    {"ename": 1, "evalue": 2, "traceback": 3}, {"data": {}, "transient": 5}):
        say(kind, content)
say("display_data", {"data": {"text/plain": "a"}, "metadata": 5})
say("execute_input", {"execution_count": "many"})
header = session.msg_header("stream")
session.send(socket, {"header": header, "parent_header": 5, "content": {}, "metadata": {}})
socket.send_multipart([b"nonsense"])
socket.send_multipart([b"<IDS|MSG>", b"", b"{", b"{", b"{", b"{"])
print("all is said")
"""


def hand_in(chapter, notebook, folder):
    add_cell(notebook, BROKEN)
    answer(notebook, SHAPES, RIGHT_SHAPES)
    answer(notebook, ERROR, RIGHT_ERROR)
