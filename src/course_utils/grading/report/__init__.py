"""What a class made of a chapter, for people to read."""
