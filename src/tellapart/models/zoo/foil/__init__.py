"""FOIL's systems (Shekhar et al. 2017, section 4.1): four classifiers of captions, a captioner."""
