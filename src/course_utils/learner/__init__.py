"""What notebooks use: checkers, pictures, processes, and the helpers of single chapters."""
