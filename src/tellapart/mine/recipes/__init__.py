"""Settings of named pipelines, one YAML file each; what a file leaves out is the default."""
