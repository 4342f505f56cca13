"""Near misses of real photographs: what can be mirrored or taken out, and the captions for it."""
