"""Pictures as data URLs: the stored bytes where every reader sees the same pixels in them."""

from __future__ import annotations

import base64
import io

from tellapart.pictures import Picture, crop_box, split_uri

AS_STORED = {"JPEG": "image/jpeg", "PNG": "image/png"}
ORIENTATION = 0x0112


def data_url(picture: Picture) -> str:
    """A picture as `data:image/...;base64,...`.

    JPEG and PNG go out as they are stored. Other formats, parts of pictures, pictures that EXIF
    turns round (readers differ) and PNG files that carry text (the built-in world writes the
    truth there) are encoded anew, as PNG without loss.
    """
    from PIL import Image as Pillow

    opened = picture.open()  # whole, checked, as every other model sees it
    if crop_box(split_uri(picture.image.uri)[1]) is None:
        stored = picture.read()
        with Pillow.open(io.BytesIO(stored)) as file:
            plain = file.mode in ("RGB", "L") and file.getexif().get(ORIENTATION, 1) == 1
            told = file.format == "PNG" and bool(getattr(file, "text", {}))
            if file.format in AS_STORED and plain and not told:
                return _url(AS_STORED[file.format], stored)
    made = io.BytesIO()
    opened.save(made, "PNG")
    return _url("image/png", made.getvalue())


def _url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
