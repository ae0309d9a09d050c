"""Dates, texts and a request: what the chapter's later sections look at."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

# Name, first public release, end (None: none was announced), what it brought.
FRAMEWORKS = (
    ("Torch", 2002.8, 2018.0, "a library in C++, from 2011 with Lua: tensors and modules"),
    ("Theano", 2008.0, 2017.9, "a graph is described, then compiled: static"),
    ("Caffe", 2013.9, 2018.3, "layers in a text file; convolutional networks for everyone"),
    ("Keras", 2015.2, None, "one front for several engines, since version 3 PyTorch too"),
    ("Chainer", 2015.4, 2019.95, "define by run: the graph is built while Python runs"),
    ("MXNet", 2015.8, 2023.7, "eager and static, mixed"),
    ("TensorFlow", 2015.85, None, "static graphs at first, eager since 2.0 of 2019"),
    ("CNTK", 2016.05, 2019.2, "static, for speech"),
    ("PaddlePaddle", 2016.7, None, "Baidu; both ways"),
    ("PyTorch", 2017.05, None, "eager; compiled since 2.0 of 2023"),
    ("JAX", 2018.9, None, "functions that are transformed, then compiled"),
    ("MindSpore", 2020.25, None, "Huawei"),
    ("MegEngine", 2020.25, None, "Megvii"),
    ("Jittor", 2020.25, None, "Tsinghua University; operators compiled on the fly"),
    ("OneFlow", 2020.6, None, "a placement for every tensor of a cluster"),
)


def post(address: str, body: bytes, timeout: float = 10) -> tuple[int, dict]:
    """Send ``body`` to a service of this machine; its status and what it answered."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=timeout)
    try:
        connection.request("POST", "/", body)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()
