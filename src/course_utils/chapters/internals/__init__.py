"""What the chapter on internals is given, drawn and checked with, a file for each exercise."""
