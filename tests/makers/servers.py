"""A loopback server that makes images as OpenAI's interface and Automatic1111's do."""

from __future__ import annotations

import base64
import io
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from PIL import Image


def drawn(prompt: str, seed: int, side: int) -> bytes:
    rng = np.random.default_rng([seed, len(prompt)])
    pixels = rng.integers(0, 255, (side, side, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


@contextmanager
def image_server(*, die_after: int = 10**9, refuse: str = "\0"):
    """Serves until `die_after` pictures are made, then cuts every connection off."""
    made = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if len(made) >= server.die_after:
                self.connection.close()
                return None
            if refuse in asked["prompt"]:
                return self.answer(400, {"error": {"code": "content_policy_violation"}})
            side = int(asked.get("width") or asked["size"].partition("x")[0])
            made.append(asked)
            data = base64.b64encode(drawn(asked["prompt"], asked["seed"], side)).decode()
            openai = self.path.endswith("/images/generations")
            self.answer(200, {"data": [{"b64_json": data}]} if openai else {"images": [data]})
            return None

        def answer(self, status, body):
            text = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.die_after = die_after
    server.made = made
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
