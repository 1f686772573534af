"""Remarks in other forms: text, the source with remarks, JSON, HTML, lines for editors, SARIF, and the difference of two."""
