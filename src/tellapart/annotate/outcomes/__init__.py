"""What comes out of a study: agreement, human figures, a run, a verified benchmark, a funnel."""
