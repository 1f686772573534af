"""Pictures as SVG text: the document around their parts, and their colours. The doors are `svg.document` and `style.picture`."""
