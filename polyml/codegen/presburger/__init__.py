"""Small systems of linear constraints over integers, decided without isl: Pugh's Omega test, rows, case splits."""
