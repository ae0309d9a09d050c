"""What several notebooks use; ``course_utils`` hands out the names that they share.

What one chapter alone needs lies in ``course_utils.chapters``, under the chapter's name.
"""
