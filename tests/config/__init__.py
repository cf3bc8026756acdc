"""How configurations are read, checked and refused."""
