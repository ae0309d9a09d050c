"""What notebooks use; ``course_utils`` hands out the names that they share.

A module here serves several chapters. A package holds the helpers of one chapter, a file for each
exercise or topic: ``numerics`` of chapter 04, ``walks`` of 05, ``custom_gradients`` of 06,
``hook_trials`` of 07, ``losses`` of 10, ``visualization`` and ``servers`` of 14, ``sickbay`` of 15,
``rank_trials`` of 17, ``sharding`` of 18. The few helpers of other chapters are modules:
``stride_slips``, ``hook_slips``, ``layers``, ``layer_slips``, ``pipelines``, ``shapes_data``,
``rank_pictures``.
"""
