"""Training: examples with near misses, losses, one loop. Only this part needs torch."""
