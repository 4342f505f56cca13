"""MCIC's systems (Ding et al. 2016): three linear baselines, FFNN, and Vec2seq+FFNN."""
