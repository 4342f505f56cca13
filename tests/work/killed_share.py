"""A command that is killed as soon as it has kept a shard: CONSTANTS (JSON), then its words."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

from tellapart.cli.main import app
from tellapart.work.folder import ShardFolder

keep = ShardFolder.keep


def keep_and_die(self, shard, made):
    keep(self, shard, made)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    for place, value in json.loads(sys.argv[1]).items():
        module, name = place.rsplit(".", 1)
        setattr(importlib.import_module(module), name, value)
    ShardFolder.keep = keep_and_die
    app(sys.argv[2:])
