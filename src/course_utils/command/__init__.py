"""The instructor's and CI's door: what the ``course`` command does. No notebook imports from here."""
