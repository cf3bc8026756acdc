"""The tools that come with the package: the name in the YAML is the name of the file."""
