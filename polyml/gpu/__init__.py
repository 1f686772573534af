"""What a mapping of loops to threads does on a GPU: requests of warps, banks of shared memory, occupancy, registers, and the choice of a
mapping. The door is `mapping_choice.choose`.
"""
