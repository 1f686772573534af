"""Parts of launches that a library may compute in their place."""
