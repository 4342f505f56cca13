"""How well captioners write: metrics over systems, beside people's judgements."""
