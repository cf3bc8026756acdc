"""Reading the web: which addresses may be reached, bounded requests, and the text of what comes."""
