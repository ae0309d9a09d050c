"""Dates, texts and a request: what the chapter's later sections look at."""

from __future__ import annotations

import http.client
import json
from urllib.parse import urlsplit

# Name, first public release, end (None: none was announced), how it runs a network.
FRAMEWORKS = (
    ("Torch", 2002.8, 2018.0, "eager"),
    ("Theano", 2008.0, 2017.9, "static"),
    ("Caffe", 2013.9, 2018.3, "static"),
    ("Keras", 2015.2, None, "both"),
    ("Chainer", 2015.4, 2019.95, "eager"),
    ("MXNet", 2015.8, 2023.7, "both"),
    ("TensorFlow", 2015.85, None, "both"),
    ("CNTK", 2016.05, 2019.2, "static"),
    ("PaddlePaddle", 2016.7, None, "both"),
    ("PyTorch", 2017.05, None, "both"),
    ("JAX", 2018.9, None, "both"),
    ("MindSpore", 2020.25, None, "both"),
    ("MegEngine", 2020.25, None, "both"),
    ("Jittor", 2020.25, None, "both"),
    ("OneFlow", 2020.6, None, "both"),
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
