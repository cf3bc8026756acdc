"""Access to the web: which addresses may be reached, bounded requests, and the text of pages."""
