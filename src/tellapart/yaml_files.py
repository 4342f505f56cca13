"""YAML that people write: layouts of tables, settings of builders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tellapart.errors import BadInput
from tellapart.files import read_text


def read_yaml(path: Path) -> Any:
    """What a YAML file says."""
    text = read_text(path)
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise BadInput(f"{path.name} is nested too deeply", where=str(path)) from None
    # PyYAML lets through what its conversions raise: dates and numbers that cannot be.
    except (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise BadInput(f"{path.name} is not YAML: {reason:.500}", where=str(path)) from None
