"""What `k.explain()`, `k.why` and `k.signatures` give: words on what was compiled, remarks on loops, and the ledger of forms."""
