"""What one chapter alone needs, in a package with the chapter's name: ``09_layers`` has ``layers``.

Its trials (what the judge asks), slips (what known mistakes give), pictures and data lie there. A
chapter's package imports the learner's library, never another chapter's, and only the chapter's
notebook and its tests import it.
"""
