"""The instructor's and CI's door: the ``course`` command. No notebook imports from here."""
