"""The model of a kernel with regions: `region_model.with_regions`, and which loops around them stay loops of the model."""
