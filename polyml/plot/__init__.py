"""Pictures as SVG text: the document around their parts, and their colours."""
