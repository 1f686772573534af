"""What is known of index arrays, and what follows for dependences."""
