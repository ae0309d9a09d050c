"""Makes the course's site: Sphinx's sources from the committed notebooks, then its pages.

Nothing is executed. What a learner gets as a release is the text; what its solution printed and
drew stands below the cells. Only ``make site`` installs what this package needs beyond the course.
"""
