"""What each generated page of the reference says, a module for each page."""
