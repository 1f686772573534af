"""As polyml/api/notebook."""
