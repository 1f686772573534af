"""As polyml/model/references."""
