"""Pure signals of texts and conversations: no model, no state, no I/O."""
