"""What was measured of the strategies, on recorded answers: each module is a command that prints its figures."""
