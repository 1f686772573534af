"""What a mapping of loops to threads does on a GPU: requests of warps, bank conflicts, occupancy, registers, and its choice.

The door is `mapping_choice.choose`.
"""
