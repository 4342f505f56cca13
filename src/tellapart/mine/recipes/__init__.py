"""Settings of named pipelines, one YAML file each; missing settings have their defaults."""
