"""What every part of the training stands on."""
