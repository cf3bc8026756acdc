"""What is measured of an answer; the table of judgements says what it means."""
