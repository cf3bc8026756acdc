"""Whether a text claims that a tool was used or tells its result: words, sentences, and what backs them."""
