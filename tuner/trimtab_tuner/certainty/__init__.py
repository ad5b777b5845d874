"""How sure a result is: noise, luck, repeated blocks, ranks, and what may be announced of them."""
