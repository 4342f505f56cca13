"""Tokens: random, compared in constant time, written down nowhere."""

from __future__ import annotations

import hmac
import random
import stat

import numpy as np

from tellapart.study.keys import NAME, hashed, new_token, read_keys, write_keys


def test_tokens_come_from_the_system_whatever_the_seeds_are():
    made = set()
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)
        made |= {new_token() for _ in range(500)}
    assert len(made) == 1000
    assert min(map(len, made)) >= 32


def test_the_owners_token_is_compared_in_constant_time(tmp_path, monkeypatch):
    """Hashes of one length are, whatever is sent."""
    keys, compared, compare = write_keys(tmp_path), [], hmac.compare_digest

    def noted(left, right):
        compared.append((len(left), len(right)))
        return compare(left, right)

    monkeypatch.setattr("tellapart.study.keys.hmac.compare_digest", noted)
    wrong = ("", "x", keys.owner[:-1], keys.owner + "x", "é" * 100)
    assert [keys.is_owner(token) for token in (*wrong, keys.owner)] == [False] * 5 + [True]
    assert compared == [(64, 64)] * 6


def test_keys_can_be_read_by_their_owner_alone_and_show_themselves_nowhere(tmp_path):
    keys = write_keys(tmp_path)
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert read_keys(tmp_path) == keys
    assert keys.owner not in repr(keys) and keys.pictures not in str(keys)
    assert hashed(keys.owner) != keys.owner
