"""The report: runs in, one HTML page out that needs nothing from outside."""
