"""What a Program does to caches: `simulator` makes every access, `analytic` finds misses by formulas."""
