"""Hard negative captions of SugarCrepe's seven kinds, by rules or by a language model."""
