"""What the launches of a program do on a GPU: requests of warps, bank conflicts, occupancy, registers, predicted time.

The door is `launch_model.modelled`.
"""
