"""As polyml/api/inspecting."""
