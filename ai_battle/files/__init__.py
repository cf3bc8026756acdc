"""Files of this machine as parts of a message: read within bounds, and told with what was left out of them."""
